package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/schema"
)

// An Edit is a planned change of one key in the user's file.
type Edit struct {
	// File is a path without links.
	File string
	// Before is nil if there is no file yet.
	Before, After []byte
	Effects       []Effect

	candidate string // the path of the file as Candidates returns it
}

// An Effect is a setting whose value changes with an edit. From and To have the form of Setting.Value.
type Effect struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// ErrChanged means that the file was edited after NewEdit.
var ErrChanged = errors.New("the file was edited in the meantime, so nothing is written; look at the change again")

// NewEdit prepares to set a key in the user's file to a JSON value. If value is nil, the edit removes the key. If
// Load would warn of the value, NewEdit returns an error.
func NewEdit(o Options, key string, value *string) (*Edit, error) {
	at := path(strings.Split(key, "."))
	if !slices.ContainsFunc(editable(), func(known path) bool { return slices.Equal(known, at) }) {
		err := fmt.Errorf("%s is not a known key", show("", key, false))
		if meant := meantKey(at); slices.Equal(meant, at) {
			err = fmt.Errorf("%s holds other keys; name one of them", key)
		} else if meant != nil {
			err = fmt.Errorf("%w; did you mean %s?", err, meant)
		}
		return nil, err
	}
	e, err := newEdit(o)
	if err != nil {
		return nil, err
	}
	before := e.Before
	if before == nil {
		before = []byte("\n")
	}
	d, err := jsonc.ParseDocument(e.File, before)
	if err != nil {
		return nil, fmt.Errorf("correct the file first: %w", err)
	}
	if value == nil {
		if !d.Remove(at) {
			return nil, fmt.Errorf("%s does not set %s", e.File, key)
		}
	} else if err := d.Set(at, *value); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if e.After = d.Bytes(); len(e.After) > maxFileBytes {
		return nil, fmt.Errorf("%s would be %w: more than %d KiB", e.File, regular.ErrTooLarge, maxFileBytes>>10)
	}
	if bytes.Equal(e.After, e.Before) {
		return nil, fmt.Errorf("%s has this value already", key)
	}
	if err := e.check(o, key); err != nil {
		return nil, err
	}
	now, _ := Explain(o)
	o.edit = e
	next, _ := Explain(o)
	for i, s := range next {
		if s.Value != now[i].Value {
			e.Effects = append(e.Effects, Effect{s.Key, now[i].Value, s.Value})
		}
	}
	return e, nil
}

func editable() []path {
	all := keysWithEffect(nil, reflect.TypeFor[schema.Config]())
	return slices.DeleteFunc(all, func(at path) bool {
		return slices.ContainsFunc(all, func(other path) bool { return len(other) > len(at) && slices.Equal(other[:len(at)], at) })
	})
}

// newEdit prepares an edit of the user's file. If the user has no file, the edit creates the first candidate.
func newEdit(o Options) (*Edit, error) {
	files, _ := Candidates(Options{Harness: o.Harness, Env: o.Env})
	if len(files) == 0 {
		return nil, errors.New("the home directory is not known, so there is no place for a file")
	}
	e := &Edit{candidate: files[0]}
	for _, file := range files {
		if info, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) && (err != nil || !info.IsDir()) {
			e.candidate = file
			break
		}
	}
	if name := filepath.Base(e.candidate); strings.HasPrefix(name, referenceName+".") {
		return nil, fmt.Errorf("%s belongs to another plugin; copy it to %s%s first", e.candidate, ownName, filepath.Ext(name))
	}
	var err error
	if e.File, err = regular.RealPath(e.candidate); err != nil {
		return nil, err
	}
	e.Before, err = e.read()
	return e, err
}

func (e *Edit) read() ([]byte, error) {
	content, err := regular.Read(e.File, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

var digits = regexp.MustCompile(`[0-9]+`)

// check returns an error if the edit causes a new warning. It ignores the numbers in warnings, because the edit may
// move an older mistake to another line.
func (e *Edit) check(o Options, key string) error {
	o.Directory = ""
	_, before := Load(o)
	o.edit = e
	_, after := Load(o)
	if len(after) > maxWarnings {
		return fmt.Errorf("%s has too many mistakes; correct them first", e.File)
	}
	for _, w := range after {
		isOwn := w.Key == key || strings.HasPrefix(w.Key, key+".") || strings.HasPrefix(w.Key, key+"[")
		same := func(old Warning) bool {
			return digits.ReplaceAllString(old.Message, "") == digits.ReplaceAllString(w.Message, "")
		}
		if !isOwn && slices.ContainsFunc(before, same) {
			continue
		}
		message := strings.TrimPrefix(w.Message, fmt.Sprintf("%s:%d: ", w.File, w.Line))
		if i := strings.LastIndex(message, "; "); i > 0 && (message[i+2:] == "ignored" || strings.HasPrefix(message[i+2:], "using ")) {
			message = message[:i] // the end of the message says what Load does with a bad value
		}
		return errors.New(message)
	}
	return nil
}

func (e *Edit) Version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %s", e.Before == nil, e.Before))
	return hex.EncodeToString(sum[:])
}

// Shown returns the contents before and after the edit, without secrets. In place of a value that may be a secret,
// it shows the size of the value. In place of a credential elsewhere, for example in a comment, it shows the kind of
// the credential.
func (e *Edit) Shown() (before, after string) {
	hide := func(content []byte) string {
		d, err := jsonc.ParseDocument(e.File, content)
		if err != nil {
			return ""
		}
		d.ReplaceTexts(secretKey.MatchString, func(text string, isSecret bool) string {
			if isSecret || secretURL.MatchString(text) {
				return describe(text)
			}
			return text
		})
		return secret.Redact(string(d.Bytes())) // a comment may hold a key, too
	}
	return hide(e.Before), hide(e.After)
}

// Write writes the file completely, or not at all. If the file was edited since NewEdit, Write returns ErrChanged.
func (e *Edit) Write() error {
	now, err := e.read()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, e.Before) || (now == nil) != (e.Before == nil) {
		return fmt.Errorf("%s: %w", e.File, ErrChanged)
	}
	if err := regular.CheckWritable(e.File); err != nil {
		return err
	}
	return regular.Replace(e.File, e.After, 0o600) // it may hold a key
}
