// Package search finds messages in the index. It chooses candidates by their terms in SQL, and ranks them in
// Go. docs/search.md describes the rank.
//
// It may import internal/search/words, internal/terms and store/index.
package search
