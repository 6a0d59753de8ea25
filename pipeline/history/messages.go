package history

import (
	"slices"
	"sort"
)

// Messages are the messages of a session that the trigger can see, in order. An unreadable message has an ordinal, but
// is not in the list.
type Messages struct {
	list  []Message
	total int
	// sums[n] is the total size in tokens of the messages up to ordinal n. A message that is not in the list counts as
	// 0. reads[n] is how many of these tokens the historian reads.
	sums  []int
	reads []int
}

// NewMessages returns the messages of a session. `list` contains the readable ones, sorted by ordinal, and `total`
// counts the unreadable ones, too.
func NewMessages(list []Message, total int) *Messages {
	for i := range list {
		total = max(total, list[i].Ordinal)
	}
	m := &Messages{list: list, total: total, sums: make([]int, total+1), reads: make([]int, total+1)}
	for i := range list {
		m.sums[list[i].Ordinal] = max(0, list[i].Tokens)
		m.reads[list[i].Ordinal] = max(0, list[i].Reads)
	}
	for n := 1; n <= total; n++ {
		m.sums[n] += m.sums[n-1]
		m.reads[n] += m.reads[n-1]
	}
	return m
}

func (m *Messages) Total() int { return m.total }

// Between returns the messages with ordinals from start up to end (exclusive).
func (m *Messages) Between(start, end int) []Message {
	return m.list[m.find(start):max(m.find(start), m.find(end))]
}

func (m *Messages) Same(other *Messages, start, end int) bool {
	return slices.EqualFunc(m.Between(start, end), other.Between(start, end), func(a, b Message) bool {
		return a.Ordinal == b.Ordinal && a.Key == b.Key
	})
}

// Tokens returns the size of the messages from start up to end (exclusive).
func (m *Messages) Tokens(start, end int) int {
	start, end = m.clamp(start), m.clamp(end)
	return max(0, m.sums[end-1]-m.sums[start-1])
}

// Reads returns how many tokens the historian reads of the messages from start up to end (exclusive).
func (m *Messages) Reads(start, end int) int {
	start, end = m.clamp(start), m.clamp(end)
	return max(0, m.reads[end-1]-m.reads[start-1])
}

func (m *Messages) clamp(ordinal int) int { return min(max(1, ordinal), m.total+1) }

func (m *Messages) find(ordinal int) int {
	return sort.Search(len(m.list), func(i int) bool { return m.list[i].Ordinal >= ordinal })
}

// suffixStart returns the ordinal at which the newest messages with the given size begin: it takes as few messages as
// are needed to reach this size in tokens. If all messages together are smaller, it returns 1.
func (m *Messages) suffixStart(tokens int) int {
	all := m.sums[m.total]
	switch {
	case tokens <= 0:
		return m.total + 1
	case all < tokens:
		return 1
	}
	return sort.Search(len(m.sums), func(n int) bool { return m.sums[n] > all-tokens })
}

// prefixEnd returns where a run that begins at the message `start` has to end (exclusive). The run may read at most
// `tokens` tokens, and no message from `end` on, but it always reads at least one message.
func (m *Messages) prefixEnd(start, end, tokens int) int {
	if tokens <= 0 || start >= end {
		return start
	}
	fits := sort.Search(end-start, func(n int) bool { return m.Reads(start, start+n+1) > tokens })
	return start + max(1, fits)
}

// newestPrompt returns the ordinal of the n-th newest prompt of the user, or 0.
func (m *Messages) newestPrompt(n int) int {
	for i := len(m.list) - 1; i >= 0; i-- {
		if m.list[i].IsPrompt() {
			if n--; n <= 0 {
				return m.list[i].Ordinal
			}
		}
	}
	return 0
}
