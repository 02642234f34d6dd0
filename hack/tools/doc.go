// Package tools holds no code: it is the Go module that pins the generators and analysers of the Makefile.
package tools
