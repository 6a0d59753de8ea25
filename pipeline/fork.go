package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// fingerprint identifies a unit in all copies of its session. A fork keeps times, order, content and call ids, but
// not the ids of messages and parts. Tool outputs are not included, because the harness may later prune them in one
// session. If a message has no time, its key replaces the time, if the harness keeps keys in a fork. Otherwise
// fingerprint returns 0, which matches no unit.
func fingerprint(m *transcript.Message, p *transcript.Part) int64 {
	identity := strconv.FormatInt(m.Created, 10)
	if m.Created == 0 {
		if identity = m.Key; !m.KeyLasts || m.Key == "" {
			return 0
		}
	}
	h := sha256.New()
	for _, field := range []string{string(m.Role), identity, strconv.Itoa(int(p.Kind))} {
		h.Write([]byte(field))
		h.Write([]byte{0})
	}
	switch p.Kind {
	case transcript.Tool:
		h.Write([]byte(p.Name + "\x00" + p.CallID + "\x00"))
		h.Write(p.Input)
	case transcript.File:
		h.Write([]byte(p.Mime + "\x00" + p.URL))
	default:
		h.Write([]byte(p.Text))
	}
	n := int64(binary.LittleEndian.Uint64(h.Sum(nil)))
	if n == 0 {
		return 1
	}
	return n
}

// The harness may wrap a user's text while the message waits in the queue, and unwrap it later, so the fingerprint of
// a user text can change. Units from an older release have no fingerprint yet.
func (s *Session) stamp(u *frozen.Unit, m *transcript.Message, p *transcript.Part) {
	if u.Fingerprint != 0 && (m.Role != transcript.User || p.Kind != transcript.Text) {
		return
	}
	if n := fingerprint(m, p); n != u.Fingerprint {
		u.Fingerprint = n
		s.stamped[u.Tag] = n
	}
}

// Stamped returns the fingerprints, by tag, that changed since the last committed pass.
func (s *Session) Stamped() map[int]int64 { return s.stamped }

// An Outline holds the parts of an array that can be compared with another session.
type Outline []outlined

type outlined struct {
	key       string
	role      transcript.Role
	isSummary bool
	units     []outlinedUnit
}

type outlinedUnit struct {
	key         string
	fingerprint int64
}

func OutlineOf(codec transcript.Codec, raws []json.Value) Outline {
	o := make(Outline, len(raws))
	inParallel(len(raws), func(i int) {
		m := codec.Decode(raws[i])
		keys := newUnitKeys(&m)
		o[i].key, o[i].role, o[i].isSummary = m.Key, m.Role, history.IsSummary(&m)
		for j := range m.Parts {
			if key := keys.of(&m.Parts[j]); key != "" {
				o[i].units = append(o[i].units, outlinedUnit{key, fingerprint(&m, &m.Parts[j])})
			}
		}
	})
	return o
}

// First returns the fingerprint of the first unit, for the first n messages that have one.
func (o Outline) First(n int) (first []int64) {
	for _, m := range o {
		if len(first) == n {
			break
		}
		if len(m.units) > 0 && m.units[0].fingerprint != 0 {
			first = append(first, m.units[0].fingerprint)
		}
	}
	return first
}

type Copy struct {
	// Units are the original's units with their tags, under the keys that they have in the copy, ascending by tag.
	Units []frozen.Unit
	// Messages maps each message key of the original to its key in the copy.
	Messages map[string]string
	// Unknown has the key of each message of the copy without a known unit, for example a failed answer, and the key
	// of the next message. Only the next message shows which message was copied.
	Unknown map[string]string
	// IsCompacted means that the copy begins with the harness's summary. Summary is the newest summary's key in the
	// original, or "" if the original has made no pass since.
	IsCompacted bool
	Summary     string
	// Next is the key of the answer directly after the copy of the original's newest message with units. The original
	// has no units for that answer, because it has made no pass since that answer. Next is empty if no answer follows.
	Next string
	// GoesOn means that the copy has answers of its own after the copied messages. The host does not know the wires
	// that these answers followed, for example because its database was lost.
	GoesOn bool
}

// CopyOf finds the messages of the array that are copies from the session of units, which must ascend by tag. Neither
// the place of a message nor its tags matter: a compaction that keeps turns puts its summary before older messages,
// and the text of an aborted answer may be stored after newer messages. A message is a copy if one of its units is a
// copy, because its other units can have changed since the original's newest pass. The messages after the last copied
// message are the session's own.
func (o Outline) CopyOf(units []frozen.Unit) Copy {
	places := make(map[int64][]int, len(units)) // indexes in units, by fingerprint
	for i, u := range units {
		if u.Fingerprint != 0 {
			places[u.Fingerprint] = append(places[u.Fingerprint], i)
		}
	}
	c := Copy{Messages: make(map[string]string), Unknown: make(map[string]string)}
	keys := make(map[int]string) // the keys of the copied units, by their index in units
	end := 0
	for i, m := range o {
		if m.isSummary {
			c.IsCompacted, c.Summary = true, ""
		}
		original := m.original(units, places, c.Messages)
		if original == "" {
			continue
		}
		if end, c.Messages[original] = i+1, m.key; m.isSummary {
			c.Summary = original
		}
		for _, u := range m.units {
			for _, place := range places[u.fingerprint] {
				if _, isTaken := keys[place]; !isTaken && units[place].MessageKey == original {
					keys[place] = u.key
					break
				}
			}
		}
	}
	copies := make(map[string]bool, len(c.Messages))
	for _, key := range c.Messages {
		copies[key] = true
	}
	for i := 1; i < len(o) && (i < end || len(o[i].units) == 0); i++ {
		if !copies[o[i].key] {
			c.Unknown[o[i-1].key] = o[i].key
		}
	}
	next := end // skip messages without units, for example an update of the system prompt
	for next < len(o) && o[next].role != transcript.Assistant && len(o[next].units) == 0 {
		next++
	}
	if _, isNewest := keys[len(units)-1]; isNewest && next < len(o) && o[next].role == transcript.Assistant {
		c.Next = o[next].key
	}
	c.GoesOn = slices.ContainsFunc(o[end:], func(m outlined) bool {
		return m.role == transcript.Assistant && len(m.units) > 0 && m.key != c.Next
	})
	for i, u := range units {
		if key, ok := keys[i]; ok {
			u.Key, u.MessageKey = key, c.Messages[u.MessageKey]
			c.Units = append(c.Units, u)
		}
	}
	return c
}

// If the harness keeps keys in a copy, the original has m's own key. Otherwise it is the first message that shares a
// unit with m and has no other copy so far. Without an original, the key is "".
func (m outlined) original(units []frozen.Unit, places map[int64][]int, taken map[string]string) string {
	first := ""
	for _, u := range m.units {
		for _, place := range places[u.fingerprint] {
			key := units[place].MessageKey
			if key == m.key {
				return key
			}
			if first == "" && taken[key] == "" {
				first = key
			}
		}
	}
	return first
}

func (c Copy) Moved(g Gauge) Gauge {
	if c.GoesOn && g.Of != "" {
		// The newest usages of the copy measure unknown wires: the raw array, or a wire with a lost head. An empty
		// key, which no message has, makes the gauge ignore them.
		g.Of = measurementOf("", g.Tokens)
		return g
	}
	// g.Of may name a message that is not in the copy. The gauge treats it as reverted: every usage in the copy is
	// older.
	g.Of = c.measurement(g.Of)
	return g
}

func (c Copy) measurement(of string) string {
	key := messageOf(of)
	if copied, ok := c.Messages[key]; ok {
		return copied + of[len(key):]
	}
	return of
}

func (c Copy) MovedEpisode(e Episode) Episode {
	e.Relief.Of = c.measurement(e.Relief.Of)
	return e
}

func (c Copy) MovedSetup(s frozen.Setup) frozen.Setup {
	key, ok := c.Messages[s.Todo.MessageKey]
	if !ok {
		s.Todo = frozen.Todo{}
	}
	s.Todo.MessageKey = key
	return s
}

// MovedBinding translates a binding of the original to the copy. If no copy of its message is
// known, the result has no message; see Answered.
func (c Copy) MovedBinding(b frozen.Binding) frozen.Binding {
	b.MessageKey = c.Messages[b.MessageKey]
	return b
}

// TagCounter returns the highest tag of the copy. Rules measure age in tags, so the
// copy must not continue at the original's higher counter.
func (c Copy) TagCounter() int {
	if len(c.Units) == 0 {
		return 0
	}
	return c.Units[len(c.Units)-1].Tag
}
