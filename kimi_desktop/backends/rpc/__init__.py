"""Other machines that lend llama.cpp their devices (RPC workers): asking them and being one."""
