// Package pieces stores which single pieces of a conversation the user wants to keep or to have back.
//
// It may import store/database and store/file.
package pieces
