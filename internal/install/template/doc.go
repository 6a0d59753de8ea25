// Package template writes a settings file that holds every default as a comment.
//
// It may import internal/json and schema.
package template
