// Package arch tests the repository as a whole: the arrows between packages point down, the doc.go files say
// what each package may import, and the documents name only files, functions, tests and keys that exist.
//
// It may import nothing of this module.
package arch
