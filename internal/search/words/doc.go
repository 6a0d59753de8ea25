// Package words knows which words mean nearly the same: a table of 20,000 terms with vectors and neighbours.
//
// It may import nothing of this module.
package words
