// Package projectdocs reads the documents of a project that the head shows:
// ARCHITECTURE.md and STRUCTURE.md.
//
// The project may come from a stranger. A file of it could be a link to a private
// key, a named pipe that never ends, or larger than any prompt. So only a regular
// file of limited size is read, and it is checked again after it was opened.
//
// It may import internal/regular.
package projectdocs
