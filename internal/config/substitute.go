package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/regular"
)

var token = regexp.MustCompile(`\{(env|file):([^}]+)\}`)

const maxSecretBytes = 64 << 10

// substitute replaces {env:NAME} and {file:PATH} in the strings of a file. It does this only after the file is parsed.
// So a quote in a value cannot end its string, and comments stay unchanged.
func (l *loader) substitute(lv *level) {
	lv.substituted = make(map[string]bool)
	walkStrings(nil, lv.tree, func(at path, text string) string {
		return token.ReplaceAllStringFunc(text, func(found string) string {
			lv.substituted[at.String()] = true
			parts := token.FindStringSubmatch(found)
			if parts[1] == "env" {
				return l.variable(lv, at, parts[2])
			}
			return l.content(lv, at, parts[2])
		})
	})
}

func (l *loader) variable(lv *level, at path, name string) string {
	value := l.env(name)
	if value == "" {
		l.warnKey(lv, at, fmt.Sprintf("the environment variable %s is not set, so its place stays empty", name))
	}
	return value
}

func (l *loader) content(lv *level, at path, name string) string {
	file := l.expandHome(name)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(lv.file), file)
	}
	for _, dir := range []string{".ssh", ".aws", ".gnupg", ".config/gh"} {
		if strings.HasPrefix(file, l.underHome(dir)+string(filepath.Separator)) {
			l.warnKey(lv, at, fmt.Sprintf("reads %s, which is among private keys", file))
		}
	}
	data, err := regular.Read(file, maxSecretBytes)
	if err != nil {
		l.warnKey(lv, at, fmt.Sprintf("read %s: %v, so its place stays empty", file, withoutPath(err)))
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (l *loader) keepTokens(lv *level) {
	seen := false
	walkStrings(nil, lv.tree, func(at path, text string) string {
		if !seen && token.MatchString(text) {
			seen = true
			l.warnKey(lv, at, "{env:} and {file:} mean nothing in a project file, because a repository must not read the user's secrets")
		}
		return text
	})
}

func (l *loader) warnKey(lv *level, at path, message string) {
	key := at.String()
	l.warnings.add(Warning{File: lv.file, Line: lv.line(at), Key: key, Message: fmt.Sprintf("%s: %s: %s", lv.place(at), key, message)})
}

// line returns the line of the key at this path. If the line is unknown, it returns the line of the nearest object
// around the key, or 0.
func (lv *level) line(at path) int {
	for ; len(at) > 0; at = at[:len(at)-1] {
		if line, ok := lv.lines[at.String()]; ok {
			return line
		}
	}
	return 0
}

// place returns the place of a key as file:line, because many terminals turn this form into a link.
func (lv *level) place(at path) string {
	if line := lv.line(at); line > 0 {
		return fmt.Sprintf("%s:%d", lv.file, line)
	}
	return lv.file
}

func walkStrings(at path, value any, f func(path, string) string) any {
	switch value := value.(type) {
	case string:
		return f(at, value)
	case object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			value[key] = walkStrings(at.with(key), value[key], f)
		}
	case []any:
		for i := range value {
			value[i] = walkStrings(at.with("["+strconv.Itoa(i)+"]"), value[i], f)
		}
	}
	return value
}
