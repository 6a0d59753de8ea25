// Package arch tests the repository as a whole: packages import only what their doc.go files allow, and the documents
// name only files, functions, tests and keys that exist.
//
// It may import nothing of this module.
package arch
