package config

import (
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/json"
)

type Warning struct {
	File string
	// Line is 0 if it is unknown.
	Line int
	// Key is empty if the warning is about the whole file.
	Key string
	// Value is the value in the file. For an object, a list or a possible secret, it says only the kind and the size.
	// It is empty if the key itself is the problem.
	Value   string
	Allowed string
	Message string
}

func (w Warning) String() string { return w.Message }

const maxWarnings = 50

type warnings struct {
	list []Warning
}

func (w *warnings) add(warning Warning) {
	switch {
	case len(w.list) < maxWarnings:
		w.list = append(w.list, warning)
	case len(w.list) == maxWarnings:
		w.list = append(w.list, Warning{File: warning.File, Message: "there are more warnings"})
	}
}

func (w *warnings) full() bool { return len(w.list) > maxWarnings }

var secretKey = regexp.MustCompile(`(?i)(api_?key|secret|passw|passphrase|pwd?$|credential|auth|bearer|cookie|token$|key$)`)

// secretURL matches a URL with a user name, a password or a query, for example http://user:password@host/?token=1.
var secretURL = regexp.MustCompile(`(?s)//.*[@?]|^\S+:\S+@`)

const maxShown = 80

func show(key string, value any, substituted bool) string {
	switch value := value.(type) {
	case object, []any:
		return describe(value)
	case string:
		if substituted || secretKey.MatchString(key) || secretURL.MatchString(value) {
			return fmt.Sprintf("a text of %d characters", utf8.RuneCountInString(value))
		}
		if len(value) > maxShown {
			return strconv.Quote(value[:maxShown]) + "…"
		}
		return strconv.Quote(value)
	default:
		if secretKey.MatchString(key) {
			return describe(value)
		}
		return compact(value)
	}
}

func describe(value any) string {
	switch value := value.(type) {
	case object:
		return fmt.Sprintf("an object of %d keys", len(value))
	case []any:
		return fmt.Sprintf("a list of %d values", len(value))
	case string:
		return fmt.Sprintf("a text of %d characters", utf8.RuneCountInString(value))
	case float64:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}

func compact(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return describe(value)
	}
	return string(data)
}
