package tool

import (
	"slices"
	"testing"
)

func TestTagRanges(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
	}{
		{"5", []int{5}},
		{"3-5", []int{3, 4, 5}},
		{"1-5,8,12-15", []int{1, 2, 3, 4, 5, 8, 12, 13, 14, 15}},
		{"§302§-§305§", []int{302, 303, 304, 305}},
		{" 7 , 3 - 4 ", []int{3, 4, 7}},
		{"007", []int{7}},
		{"0", []int{0}},
	} {
		got, err := parseTags(c.in)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("parseTags(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "abc", "5-3", "1,", "1-2-3", "3--5", "-5", "1-1001", "1-1000,2000", "99999999999999999999"} {
		if got, err := parseTags(in); err == nil {
			t.Errorf("parseTags(%q) = %v, want an error", in, got)
		}
	}
}

func FuzzParseTags(f *testing.F) {
	for _, s := range []string{"5", "1-5,8", "§3§-§5§", "1-", ",", "-", "9223372036854775807-9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tags, err := parseTags(s)
		if err != nil {
			return
		}
		if len(tags) == 0 || len(tags) > maxRange || !slices.IsSorted(tags) || tags[0] < 0 {
			t.Fatalf("parseTags(%q) = %v", s, tags)
		}
	})
}
