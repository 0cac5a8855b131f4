package main

import "glasswatch/cmd/internal/demo"

var story = demo.Story{}
