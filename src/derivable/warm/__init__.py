"""What is done before a generation asks for it: the index filled ahead of time, saved, and found in a store, and the
next mask computed beside the model."""
