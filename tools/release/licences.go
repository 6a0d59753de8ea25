package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)`)

// The program must be shipped with the licences of Go and of all its modules.
func (b builder) notices(p platform) ([]byte, error) {
	root, err := b.run(b.env(p), "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	const each = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
	listed, err := b.run(b.env(p), "go", "list", "-deps", "-f", each, "./cmd/"+program)
	if err != nil {
		return nil, err
	}
	modules := strings.Split(strings.TrimSpace(string(listed)), "\n")
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(line string) bool { return line == "" })
	var all bytes.Buffer
	for _, line := range append([]string{"Go\t" + strings.TrimSpace(string(root))}, modules...) {
		name, dir, _ := strings.Cut(line, "\t")
		fmt.Fprintf(&all, "%s\n%s\n", strings.Repeat("-", 72), name)
		found, err := licencesIn(dir)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no licence text in %s", name, dir)
		}
		for _, text := range found {
			fmt.Fprintf(&all, "\n%s\n", text)
		}
	}
	for _, e := range embedded {
		text, err := os.ReadFile(filepath.Join(b.repository, e[1]))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&all, "%s\n%s\n\n%s\n", strings.Repeat("-", 72), e[0], text)
	}
	return all.Bytes(), nil
}

// The program embeds these files. They are in no Go module, so their licences must be listed here.
var embedded = [...][2]string{
	{"the token vocabulary", "internal/tokens/LICENSE.vocabulary"},
	{"the table of words", "internal/search/words/LICENSE.words"},
}

// The parameter `of` is a platform, for example "linux/amd64". packaging/pack.mjs puts the notices into the npm
// packages.
func printNotices(repository, of string) error {
	goos, arch, isPlatform := strings.Cut(of, "/")
	if !isPlatform {
		return fmt.Errorf("notices of %q: no platform such as linux/amd64", of)
	}
	texts, err := builder{repository: repository}.notices(platform{goos, arch})
	if err != nil {
		return fmt.Errorf("notices of %s: %w", of, err)
	}
	_, err = os.Stdout.Write(texts)
	return err
}

func licencesIn(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licence.MatchString(e.Name()) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
		}
	}
	return texts, nil
}
