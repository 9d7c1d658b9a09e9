x:
	true
