// Package jsonc parses the JSON files that people edit. It accepts comments and
// trailing commas, and reports mistakes with their position.
//
// It may import nothing of this module.
package jsonc
