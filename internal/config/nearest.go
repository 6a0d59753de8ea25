package config

import "strings"

// maxTypo bounds the length of a key that is compared, because a hostile file may hold very long ones.
const maxTypo = 64

// nearest returns the candidate that the author of name probably meant, or nothing.
func nearest(name string, candidates []string) string {
	if len(name) > maxTypo {
		return ""
	}
	name = plain(name)
	best, bestDistance := "", 2+len(name)/6
	for _, candidate := range candidates {
		if d := distance(name, plain(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// plain removes the differences in the way words are joined, so that protectedTags and protected_tags become
// equal.
func plain(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
