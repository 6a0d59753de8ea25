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

// fingerprint returns the same number for a unit and its copies in forks. A fork has new ids of messages and parts, but
// the same times, order, content and call ids. Outputs are not hashed, because the harness may prune a tool output in
// the fork and not in the original, or the other way round. A message without a time is identified by its key, if the
// harness keeps keys in a fork. Otherwise fingerprint returns 0, which matches no unit.
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

// stamp sets the fingerprint of a unit that an older release stored without one. It also renews the fingerprint of a
// user's text: while the message waits in a queue, the harness may add words around the text, and remove them later.
func (s *Session) stamp(u *frozen.Unit, m *transcript.Message, p *transcript.Part) {
	if u.Fingerprint != 0 && (m.Role != transcript.User || p.Kind != transcript.Text) {
		return
	}
	if n := fingerprint(m, p); n != u.Fingerprint {
		u.Fingerprint = n
		s.stamped[u.Tag] = n
	}
}

// Stamped returns the fingerprints that have changed since the last committed pass. The keys are tags.
func (s *Session) Stamped() map[int]int64 { return s.stamped }

// An Outline is the part of an array that CopyOf compares with another session.
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

// First returns up to n fingerprints: for each of the first messages, the fingerprint of its first unit. It skips a
// message without units, and a message whose first unit has no fingerprint.
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
	// Units are the units of the original that the copy also contains, ascending by tag. Their tags are those of the
	// original, but their keys are those of the copy.
	Units []frozen.Unit
	// Messages maps each message key of the original to its key in the copy.
	Messages map[string]string
	// Unknown says where the copy has messages that cannot be compared, because they have no unit that the original
	// also has. It maps the key of the message before such a message to the key of the message itself. For example, a
	// failed answer has no units, so only the message before it shows which message of the original it copies.
	Unknown map[string]string
	// IsCompacted means that the copy begins with the harness's summary. Summary is the key of this summary in the
	// original. It is "" if the original has made no pass since the harness wrote the summary.
	IsCompacted bool
	Summary     string
	// Next is the key of the answer to the original's newest request. The original has made no pass since this answer,
	// so it has no units of the answer yet. Next is "" if the copy has no such answer.
	Next string
	// GoesOn means that the copied messages are followed by answers that the host does not know, for example because
	// its database was lost. The host cannot tell which wires the model has answered there.
	GoesOn bool
}

// CopyOf finds the messages of the array that are copies of another session's messages. `units` are that session's
// units, ascending by tag. One equal unit is enough to recognise a copy, because the other units of the message may
// have changed since the original's newest pass. All messages after the last copy are new.
//
// CopyOf compares neither places nor tags. Places can differ, because a compaction that keeps turns puts its summary
// before older messages. Tags can be out of order, because the harness may store the text of an aborted answer late.
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

// The method `original` returns the key of the message that m is a copy of, or "". Some harnesses keep the key in a
// copy. Otherwise the original is the first message that shares a unit with m and has no other copy yet.
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
		// The host does not know for which wire the provider counted the newest usages of the copy. It may have been
		// the raw array, or a wire with a head that was lost. So these usages say nothing about the host's own wires.
		// Since no message has an empty key, the empty key here makes the gauge ignore them.
		g.Of = measurementOf("", g.Tokens)
		return g
	}
	// If the copy lacks the message that g.Of names, g.Of keeps this message. All usages of the copy are older than the
	// message, so the gauge treats the message as reverted.
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

// MovedBinding translates a binding of the original for the copy. If the copy lacks the binding's message, the message
// key becomes empty, and the binding's prompt can be used only for (*memo).Answered.
func (c Copy) MovedBinding(b frozen.Binding) frozen.Binding {
	b.MessageKey = c.Messages[b.MessageKey]
	return b
}

// TagCounter returns the highest tag of the copy. The counter of the original may be higher. Rules measure age in tags,
// so with that counter, the copied units would seem older than they are.
func (c Copy) TagCounter() int {
	if len(c.Units) == 0 {
		return 0
	}
	return c.Units[len(c.Units)-1].Tag
}
