// Package pieces stores what the user wants of single pieces of a conversation: to keep them, or to have them back.
//
// It may import store/database and store/file.
package pieces
