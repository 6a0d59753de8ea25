// Package marker sets compaction markers in the harnesses' own stores, so that the array of
// a long session stays short. docs/markers.md has the rules.
//
// It may import internal/rawhistory and store/opencodedb.
package marker
