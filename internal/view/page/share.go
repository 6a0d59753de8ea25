package page

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/schema"
)

// The texts of these fields are always codes of this program, for example the cause "pressure". So they reveal nothing
// about a session.
var codes = []string{"Verdict", "Cause", "BustCause", "Fold", "FoldReason", "Reason", "Edit", "Unit", "Rule", "Route", "Routes", "MadeBy", "Currency", "Spending"}

// Share changes a summary so that it can be shown to others. If withTexts is true, it only replaces
// credentials. If not, it removes every text that is not a code of this program: names of sessions, models,
// files and tools, and the texts of messages. Numbers stay.
func Share(s *replay.Summary, withTexts bool) {
	if withTexts {
		redact(reflect.ValueOf(s).Elem(), "", func(_, text string) string { return withoutSecrets(text) })
		return
	}
	names := make(map[string]string)
	for _, p := range s.Detail {
		if names[p.Session] == "" {
			names[p.Session] = fmt.Sprintf("session %d", len(names)+1)
		}
	}
	saved, regrets := make(map[string]schema.Saving), make(map[string]replay.Regret)
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if v, ok := s.Saved[id]; ok {
			saved[names[id]] = v
		}
		if v, ok := s.Regrets[id]; ok {
			regrets[names[id]] = v
		}
	}
	s.Saved, s.Regrets = saved, regrets
	if n := len(s.Missing); n > 0 {
		s.Missing = []string{"some facts, whose names are left out here"}
	}
	missing := s.Missing
	redact(reflect.ValueOf(s).Elem(), "", func(field, text string) string {
		switch {
		case slices.Contains(codes, field):
			return text
		case field == "Session":
			return names[text]
		}
		return ""
	})
	s.Missing = missing
}

// A text may be cut in the middle of a credential. If its last word has at least this number of bytes, it may be the
// beginning of one.
const leastCut = 16

// withoutSecrets first removes control characters, which could hide a credential, and then credentials. If the text was
// cut, the beginning of a credential may be at its end, where no pattern finds it. So a long last word is left out.
func withoutSecrets(text string) string {
	text = secret.Redact(format.CleanLines(text))
	if cut, isCut := strings.CutSuffix(text, "…"); isCut {
		if end := strings.LastIndexAny(cut, " \n") + 1; len(cut)-end >= leastCut {
			return cut[:end] + "…"
		}
	}
	return text
}

func redact(v reflect.Value, field string, replace func(field, text string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(replace(field, v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			redact(v.Elem(), field, replace)
		}
	case reflect.Slice:
		for i := range v.Len() {
			redact(v.Index(i), field, replace)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if of := v.Type().Field(i); of.IsExported() {
				redact(v.Field(i), of.Name, replace)
			}
		}
	case reflect.Map: // Saved and Regrets hold numbers and codes only
	}
}
