// Package words knows which words mean nearly the same.
//
// It may import nothing of this module.
package words
