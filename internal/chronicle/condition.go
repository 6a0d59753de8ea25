package chronicle

import (
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Condition is an event for which a note waits, for example "merged: login". Kind says which other fields are used.
type Condition struct {
	Kind ConditionKind
	// Path starts at the root of the project.
	Path string
	// The condition is true once Branch has been merged into the branch Into, or into the main branch if Into is "".
	Branch, Into string
	// Date is a day or a minute in local time, for example "2026-11-30" or "2026-11-30 15:04".
	Date string
	// The condition is true once the command CommandLine has ended with the exit status Status.
	CommandLine string
	Status      int
}

type ConditionKind string

const (
	ForFile   ConditionKind = "file"    // a file is there
	ForNoFile ConditionKind = "no file" // it is gone
	ForMerge  ConditionKind = "merged"
	ForDate   ConditionKind = "date"
	ForExit   ConditionKind = "exit" // a command of a session has ended
)

const maxCondition = 300

var (
	testable = regexp.MustCompile(`^(file|no file|merged|date|exit(?: +-?\w+)?):(.*)$`)
	// branch allows fewer names than git does. Otherwise, git could read a name as an option or a wildcard.
	branch  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+#=-]*$`)
	layouts = []string{"2006-01-02", "2006-01-02 15:04"}

	errCondition = errors.New(`a condition that the host tests is "file: PATH" or "no file: PATH" (from the root of the project), "merged: BRANCH", "merged: BRANCH into BRANCH", ` +
		`"date: 2027-01-31", "date: 2027-01-31 15:00" or "exit 0: COMMAND", in one line of at most 300 bytes; write any other one in your own words, without such a beginning`)
)

// ParseCondition reads the condition of a note. ok is false if the host cannot test the condition, for example "when CI
// is green". err is set if the condition begins like one that the host can test, but is not valid, for example "file:
// ../x".
func ParseCondition(text string) (c Condition, ok bool, err error) {
	line, _, hasLines := strings.Cut(text, "\n")
	m := testable.FindStringSubmatch(line)
	if m == nil {
		return c, false, nil
	}
	kind, status, _ := strings.Cut(m[1], " ")
	c.Kind = ConditionKind(kind)
	rest := strings.TrimSpace(m[2])
	isRight := rest != "" && !hasLines && len(text) <= maxCondition
	switch {
	case c.Kind == ForFile, m[1] == string(ForNoFile):
		c.Kind, c.Path = ConditionKind(m[1]), filepath.ToSlash(filepath.Clean(rest))
		isRight = isRight && filepath.IsLocal(rest) && !strings.ContainsRune(rest, 0)
	case c.Kind == ForMerge:
		c.Branch, c.Into, _ = strings.Cut(rest, " into ")
		c.Branch, c.Into = strings.TrimSpace(c.Branch), strings.TrimSpace(c.Into)
		isRight = isRight && isBranch(c.Branch) && (isBranch(c.Into) || !strings.Contains(rest, " into ")) && c.Branch != c.Into
	case c.Kind == ForDate:
		_, err := dateOf(rest, time.UTC)
		c.Date, isRight = rest, isRight && err == nil
	case c.Kind == ForExit:
		number, err := strconv.ParseUint(strings.TrimSpace(status), 10, 8)
		c.Status, c.CommandLine, isRight = int(number), rest, isRight && err == nil
	}
	if !isRight {
		return Condition{}, false, errCondition
	}
	return c, true, nil
}

func isBranch(name string) bool { return branch.MatchString(name) && !strings.Contains(name, "..") }

// At returns the time for which a condition of the kind ForDate waits.
func (c *Condition) At(zone *time.Location) time.Time {
	at, _ := dateOf(c.Date, zone) // ParseCondition has read it
	return at
}

func dateOf(text string, zone *time.Location) (at time.Time, err error) {
	for _, layout := range layouts {
		if at, err = time.ParseInLocation(layout, text, zone); err == nil {
			break
		}
	}
	return at, err
}
