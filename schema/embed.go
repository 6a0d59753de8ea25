package schema

import "embed"

//go:embed *.schema.json
var generated embed.FS

// JSONSchema returns the generated JSON Schema "config" or "protocol".
func JSONSchema(name string) ([]byte, error) { return generated.ReadFile(name + ".schema.json") }
