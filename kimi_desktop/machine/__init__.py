"""What this computer is: processor, memory, GPUs, disks."""
