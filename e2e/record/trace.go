package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	scrubbedProject = "/project"
	scrubbedHome    = "/home/user"
)

func (r *recording) scrub(trace []byte) []byte {
	places := map[string]string{r.root: scrubbedHome, r.product.Repo: scrubbedHome + "/magicctx-host"}
	places[r.project()] = scrubbedProject
	if r.summarises {
		// Usually, the trace gets "/project" instead of the real path of the project. But a trace with runs of the
		// historian must keep the real path. The historian's prompt contains numbers that are computed from its text,
		// and the wire contains a name that is computed from its content. With another path, the replay would compute
		// other numbers and another name, and would not match the trace.
		places[r.project()] = r.project()
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		places[home] = scrubbedHome
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 {
		places[host] = "machine"
	}
	for place, as := range places {
		if real, err := filepath.EvalSymlinks(place); err == nil && real != place {
			places[real] = as
		}
	}
	// Longer paths come first, because some paths contain others.
	var pairs []string
	for _, place := range sortedByLength(places) {
		pairs = append(pairs, place, places[place])
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(trace)))
}

func sortedByLength(places map[string]string) []string {
	var all []string
	for place := range places {
		all = append(all, place)
	}
	slices.SortFunc(all, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return all
}

// The gzip header contains no time and no name, so equal traces give equal files. size is the file's size in bytes.
func writeTrace(path string, trace []byte) (size int, err error) {
	var buf bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	_, err = zipped.Write(trace)
	if err := errors.Join(err, zipped.Close()); err != nil {
		return 0, err
	}
	return buf.Len(), os.WriteFile(path, buf.Bytes(), 0o644)
}
