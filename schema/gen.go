package schema

//go:generate go run ./gen
