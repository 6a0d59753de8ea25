package secret

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
)

type rule struct {
	name string
	// Every match of the pattern contains `hint`, so a text without the hint need not be searched. If isFolded is set,
	// the text may have the hint in upper case, too.
	hint     string
	isFolded bool
	pattern  func() *regexp.Regexp
	// A value is a credential only if it has at least `entropy` bits per character. Words and placeholders, for example
	// "your-password-here", have fewer bits than random values.
	entropy float64
}

// These are the credentials that coding sessions contain most often. Providers document the forms of their keys for
// secret scanning. The names and the idea of a hint come from gitleaks (MIT). If a pattern has a group, the group is
// the value, and the text around it stays.
var rules = []rule{
	{"private key", "-----BEGIN", false, once(`-----BEGIN (?:[A-Z]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s:,-]*`), 0},
	{"GitHub token", "gh", false, once(`\bgh[pousr]_[A-Za-z0-9]{36,}\b`), 3},
	{"GitHub token", "github_pat_", false, once(`\bgithub_pat_[A-Za-z0-9_]{36,}\b`), 3},
	{"GitLab token", "glpat-", false, once(`\bglpat-[A-Za-z0-9_-]{20,}`), 3},
	{"Anthropic key", "sk-ant-", false, once(`\bsk-ant-[A-Za-z0-9_-]{20,}`), 3},
	{"API key", "sk-", false, once(`\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}`), 3.5},
	{"Stripe key", "k_live_", false, once(`\b[rs]k_live_[A-Za-z0-9]{16,}\b`), 3},
	{"Google key", "AIza", false, once(`\bAIza[A-Za-z0-9_-]{35}`), 3},
	{"Google token", "ya29.", false, once(`\bya29\.[A-Za-z0-9_-]{20,}`), 3},
	{"AWS key", "A", false, once(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`), 3},
	{"Slack token", "xox", false, once(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), 2.5},
	{"Slack webhook", "hooks.slack.com", false, once(`hooks\.slack\.com/services/([A-Za-z0-9+/]{20,})`), 0},
	{"npm token", "npm_", false, once(`\bnpm_[A-Za-z0-9]{36}\b`), 3},
	{"PyPI token", "pypi-", false, once(`\bpypi-[A-Za-z0-9_-]{40,}`), 3},
	{"Hugging Face token", "hf_", false, once(`\bhf_[A-Za-z0-9]{30,}\b`), 3},
	{"SendGrid key", "SG.", false, once(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), 3},
	{"Vault token", "hvs.", false, once(`\bhvs\.[A-Za-z0-9_-]{20,}`), 3},
	{"Docker token", "dckr_pat_", false, once(`\bdckr_pat_[A-Za-z0-9_-]{20,}`), 3},
	{"age key", "AGE-SECRET-KEY-", false, once(`\bAGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}`), 3},
	{"Telegram token", ":AA", false, once(`\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b`), 3},
	{"JSON web token", "eyJ", false, once(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}`), 3},
	{"password in a URL", "://", false, once(`://[^\s:/@"'` + "`" + `<>]*:([^\s/@"'` + "`" + `<>$(){}]{3,})@`), 0},
	{"authorization", "authorization", true, once(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9+/=._~-]{8,})`), 2.5},
	{"bearer token", "bearer ", true, once(`(?i)\bbearer\s+([A-Za-z0-9+/=._~-]{24,})`), 3.5},
	{"password", "curl", false, once(`\bcurl\b[^\n|;&]*?\s(?:-u|--user)[ =]?["']?[^\s:"'$]+:([^\s"'` + "`" + `<>$(){}\[\]]{3,})`), 0},
	{"password", "m", false, once(`\b(?:mysql|mariadb)[a-z-]*\s(?:[^\n|;&]*?\s)?-p["']?([^\s"'` + "`" + `<>$(){}\[\]]{3,})`), 0},
	{"password", "--passw", true, flag(`passw(?:or)?d`, 6), 2.2},
	{"password", "passw", true, assignment(`[a-z0-9_-]*passw(?:or)?d`, 6), 2.2},
	{"password", "pass", true, assignment(`(?:[a-z0-9]+[_-])*(?:admin|database|db|email|ftp|imap|mail|mysql|pg|postgres|redis|root|smtp|ssh|user)[_-]?pass(?:phrase)?`, 6), 2.2},
	{"password", "_p", true, assignment(`(?-i:[A-Z0-9_]+_(?:PASS|PASSPHRASE|PWD))`, 6), 2.2},
	{"token", "--", true, flag(`(?:[a-z]+-)*token`, 16), 3},
	{"API key", "--", true, flag(`(?:api|access|secret)-key`, 12), 3},
	{"secret", "secret", true, assignment(`[a-z0-9_-]*secret(?:[_-]?(?:access)?[_-]?key)?`, 10), 3},
	{"token", "token", true, assignment(`[a-z0-9_-]*(?:access|auth|api|refresh|id|bot|session|private|deploy)[_-]?token`, 12), 3},
	{"token", "token", true, assignment(`token`, 16), 3},
	{"API key", "key", true, assignment(`[a-z0-9_-]*(?:api|access|private|encryption|account)[_-]?key`, 12), 3},
}

// The function `assignment` returns a pattern for a value that is assigned to a name, as in "DB_PASSWORD=hunter2" or
// `"apiKey": "…"`. The value has at least `least` characters, and is not a call or a variable.
func assignment(name string, least int) func() *regexp.Regexp {
	return once(fmt.Sprintf(`(?i)\b%s["']?[ \t]*(?::=|=>|[:=])[ \t]*["'%[2]s]?([^\s"'%[2]s<>()\[\]{}$,;%%]{%d,})`, name, "`", least))
}

// The function `flag` returns a pattern for the value of a flag after a blank, as in "--password hunter2".
func flag(name string, least int) func() *regexp.Regexp {
	return once(fmt.Sprintf(`(?:^|\s)--%s[ \t]+["']?([^\s"'%s<>()\[\]{}$,;%%-][^\s"'%[2]s<>()\[\]{}$,;%%]{%d,})`, name, "`", least-1))
}

func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Redact replaces each credential in a text by its name.
func Redact(text string) string {
	if !mayHold(text) {
		return text
	}
	lower := ""
	for i := range rules {
		r, in := &rules[i], text
		if r.isFolded {
			if lower == "" {
				lower = strings.ToLower(text)
			}
			in = lower
		}
		if !strings.Contains(in, r.hint) {
			continue
		}
		if after := r.redact(text); after != text {
			text, lower = after, ""
		}
	}
	return text
}

func (r *rule) redact(text string) string {
	var b strings.Builder
	done := 0
	for _, m := range r.pattern().FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		if len(m) > 2 {
			start, end = m[2], m[3]
		}
		value := text[start:end]
		if r.isFolded && reference().MatchString(value) || entropy(value) < r.entropy {
			continue
		}
		b.WriteString(text[done:start])
		b.WriteString("[redacted " + r.name + "]")
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// The pattern `reference` matches a value that is probably no credential: a single word, for example the type "string",
// or the name of another value, for example process.env.API_KEY.
var reference = once(`^[A-Za-z_]+$|^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\.?$`)

// The function `entropy` returns the number of bits per character of a value, computed from the frequencies of its
// characters.
func entropy(value string) float64 {
	var counts [256]int
	for i := range len(value) {
		counts[value[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// A word of this length without blanks may be a credential.
const longWord = 16

// mayHold reads the text once, and reports whether a pattern may match. Most texts have neither a long word with a
// digit nor the name of a credential, so they need no pattern.
func mayHold(text string) bool {
	run, hasDigit := 0, false
	for i := range len(text) {
		switch class[text[i]] {
		case letter:
			run++
		case digit:
			run++
			hasDigit = true
		default:
			if run >= longWord && hasDigit {
				return true
			}
			run, hasDigit = 0, false
			if text[i] == '.' && i >= 3 && (text[i-2:i] == "SG" || text[i-3:i] == "hvs") {
				return true
			}
			if text[i] == ':' && strings.HasPrefix(text[i:], "://") && hasPassword(text[i+3:]) {
				return true
			}
			continue
		}
		switch text[i] | 0x20 {
		case 'l': // curl, mysql, hooks.slack.com
			if before := text[:i]; strings.HasSuffix(before, "cur") || strings.HasSuffix(before, "mysq") || strings.HasSuffix(before, "hooks.s") {
				return true
			}
		case 'b': // mariadb
			if strings.HasSuffix(text[:i], "mariad") {
				return true
			}
		case '_' | 0x20: // sk_live_, dckr_pat_
			if strings.HasSuffix(text[:i], "k_live") || strings.HasSuffix(text[:i], "dckr_pat") {
				return true
			}
		case 's': // DB_PASS, dbpass
			if i >= 3 && strings.EqualFold(text[i-3:i], "pas") && !hasNoValue(text[i+1:]) {
				return true
			}
		case 'e': // SSH_PASSPHRASE
			if i >= 9 && strings.EqualFold(text[i-9:i], "passphras") {
				return true
			}
		case 'd': // MYSQL_PWD
			if strings.HasSuffix(text[:i], "_PW") {
				return true
			}
		case 'w': // passw(or)d
			if i >= 4 && strings.EqualFold(text[i-4:i], "pass") {
				return true
			}
		case 't': // secret
			if i >= 5 && strings.EqualFold(text[i-5:i], "secre") {
				return true
			}
		case 'n': // token, authorization, or the beginning of a private key
			if i >= 12 && strings.EqualFold(text[i-12:i], "authorizatio") {
				return true
			}
			if strings.HasSuffix(text[:i], "-----BEGI") {
				return true
			}
			if i >= 4 && strings.EqualFold(text[i-4:i], "toke") && !hasNoValue(text[i+1:]) {
				return true
			}
		case 'y': // key, after a name and "_" or "-", or within one, as in apiKey
			if i >= 5 && strings.EqualFold(text[i-2:i], "ke") && class[text[i-3]] != other {
				return true
			}
		}
	}
	return run >= longWord && hasDigit
}

func hasPassword(address string) bool {
	end := strings.IndexAny(address, "/ \t\r\n\"'`<>")
	if end < 0 {
		end = len(address)
	}
	return strings.IndexByte(address[:end], '@') >= 0
}

// hasNoValue reports whether the text after "token" or "pass" assigns no value. Sessions mention tokens all the time,
// so most mentions need no search.
func hasNoValue(after string) bool {
	after = strings.TrimLeft(after, `"'`)
	return after == "" || !strings.ContainsRune(":=", rune(strings.TrimLeft(after+" .", " \t")[0]))
}

const (
	other = iota
	letter
	digit
)

// The table `class` says which bytes belong to a word that may be a credential.
var class = func() (c [256]byte) {
	for b := range c {
		switch {
		case 'a' <= b|0x20 && b|0x20 <= 'z', b == '_', b == '-':
			c[b] = letter
		case '0' <= b && b <= '9':
			c[b] = digit
		}
	}
	return c
}()
