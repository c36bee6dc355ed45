"""How a folder of safetensors is served: choices and answer, for every page that shows them."""
