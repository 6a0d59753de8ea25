// Package projectdocs reads the documents of a project that the head shows:
// ARCHITECTURE.md and STRUCTURE.md.
//
// The project may come from a stranger. A file in it could be a link to a private key, a named pipe that
// never ends, or larger than any prompt. So the package reads only regular files of limited size, and checks
// each file again after opening it.
//
// It may import internal/regular.
package projectdocs
