// Package jsonc parses the JSON files that people edit, and changes them in the author's style. It accepts comments and
// trailing commas, and reports mistakes with their position.
//
// It may import nothing of this module.
package jsonc
