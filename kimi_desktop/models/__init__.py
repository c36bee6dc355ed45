"""What a model is: file headers, the local library, the starter model."""
