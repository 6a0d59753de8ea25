package recall

import (
	"regexp"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

// A class says how much a statement binds later work.
type class uint8

const (
	// chatter is not worth remembering, for example a task, a question or a plan.
	chatter class = iota
	detail
	// finding says how something behaves, or why it failed.
	finding
	decision
	rule
	// A lifted statement says that an earlier statement no longer holds.
	lifted
)

// rulePattern is narrow, because most sentences with "must" or "do not" are about the task of the moment.
var (
	rulePattern = pattern(
		`never|always|from now on|whenever|every time|each time|at all times|by hand|without asking|under no circumstances|no exceptions`,
		`(must|may|should|can|shall) (never|not|only|always)|mustn'?t|shouldn'?t|must (stay|remain)|is not allowed|are not allowed|is forbidden|are forbidden|is off limits|off-limits|hands off|is read-only`,
		`(do not|don'?t) ever|(do not|don'?t) (touch|edit|change|modify|delete|remove|commit|push|run|use|call|import|rename|add|write|put|log|bump|upgrade|merge|rebase|squash|format|reformat|reorder|mock|deploy|store|hard-?code|rely|restart|start|skip|disable|install|regenerate)`,
		`only (use|run|edit|call|change|through|via|with|after|from)|no longer (use|run|edit|call)|stop (using|running|editing|calling|adding|writing)|avoid|prefer|ask (me|us|first|before)|convention|house rule|rule:|is generated|are generated|we (always|never|don'?t|do not|use|name|write|keep|call|put|prefer)|keep in mind|remember that|(every|each|all|no) [\w ]+ (needs?|must|has to|have to|may|should)\b`,
	)
	decisionPattern = pattern(
		`we (choose|go with|stay with|stick with)|chose|opted|(instead of|rather than|over) .*because`,
	)
	findingPattern = pattern(
		`turns out|turned out|root cause|the (cause|reason|culprit) (was|is)|caused by|the fix (was|is)|fixed by|fixed it|only (works|passes|builds|starts|happens)|works only|(works|passes|builds|starts) only|(fails|breaks|hangs|crashes|times out|deadlocks) (if|when|unless|because|on|without|whenever|as soon)|does(n'?t| not) work|did(n'?t| not) (work|help)|known (issue|bug|problem|limitation)|work-?around|flaky|tried|had to|needs? .*(first|before|set|to be|running)|requires?|means|is needed|has to|have to|must be`,
	)
	liftedPattern = pattern(
		`no longer (applies|holds|needed|true|necessary|required|valid|the case|a problem|an issue)|not needed (any ?more|any longer)|is (fine|allowed|ok|okay|safe|possible) (now|again)|are (fine|allowed|ok|okay) (now|again)|(may|can) (now|again) (be )?|(allowed|permitted) again|forget (the|that|about|what)|ignore (the|that|my|what)|drop the rule|(rule|decision|convention|workaround|ban|restriction) .*(is|was|has been) (gone|lifted|dropped|obsolete|outdated|withdrawn|reverted|history|over)|(rule|ban|freeze|restriction|workaround) (is )?(over|lifted|gone)|we (reverted|dropped|withdrew|undid|gave up|moved away)|changed (my|our) mind|(is|was|were) reverted|obsolete|outdated|is over|not any ?more|any ?more\b.*(needed|necessary)|has been (removed|deleted|replaced|superseded|fixed)|was (removed|deleted|replaced|superseded)`,
	)
	momentPattern = pattern(
		`this time|for now|just now|right now|for the moment|today|tonight|tomorrow|this (morning|afternoon|week|step|commit|pr|change|session|task|turn|once|run)|in this (step|commit|pr|change|session|task|turn|branch|patch|refactoring|refactor)|until (i|we|then|tomorrow|monday|the)|yet|not now|later|currently|at the moment|next step|as a next|while (you|i|we) `,
	)
	planPattern    = regexp.MustCompile(`(?i)^(\W*)(i'?ll|i will|i'?m going|i am going|i (always|never|don'?t)|let me|let'?s|now (i|let|we)|next,? (i|we|let)|looking|checking|reading|running|first,? (i|let|we)|i (can|could|should|need|want|would|see|think)\b|shall i|should i|do you|could you|can you|would you|please)\b`)
	toldPattern    = regexp.MustCompile(`(?i)^(\W*)(i (have|am|looked|read|ran|checked|opened|added|changed|updated|wrote|created|made|moved|renamed|fixed|removed)|done|ok|okay|yes|no|sure|great|thanks|thank you)\b`)
	taskPattern    = regexp.MustCompile(`(?i)^(\W*)(add|fix|make|write|implement|create|update|change|rename|move|remove|delete|refactor|look|check|run|rerun|try|show|tell|explain|find|investigate|continue|go on|build|test|debug|review|clean|split|extract|convert|bump|merge|rebase|open|read|start|finish|port|replace|improve|document|format|set up|deploy|commit|push|have a look|help|use)\b`)
	ownHabit       = regexp.MustCompile(`(?i)^\W*i (always|never|don'?t)\b`)
	strictPattern  = pattern(`(do not|don'?t) ever|never|always|from now on|whenever|every time|each time|at all times|convention|house rule|rule:|under no circumstances|by hand|no exceptions`)
	strongFinding  = pattern(`turns out|turned out|root cause|the (cause|reason|culprit) (was|is)|only (works|passes|builds|starts)|(fails|breaks|hangs|crashes|times out|deadlocks) (if|when|unless|on|without|whenever|as soon)`)
	explicitChoice = pattern(`decision|decided|we (chose|agreed|settled|went with|picked)|agreed|settled on|rejected|ruled out|by design|deliberate|deliberately|on purpose|intentional(ly)?`)
)

func pattern(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w])(?:` + strings.Join(alternatives, "|") + `)(?:$|[^\w])`)
}

func classify(sentence string, who index.Role) class {
	s := strings.TrimSpace(sentence)
	isQuestion := strings.HasSuffix(s, "?")
	switch {
	case isQuestion:
		return chatter
	case liftedPattern.MatchString(s):
		return lifted
	case ownHabit.MatchString(s):
		return chatter
	case who == index.User && rulePattern.MatchString(s) && (!momentPattern.MatchString(s) || strictPattern.MatchString(s)) && (!taskPattern.MatchString(s) || strictPattern.MatchString(s)):
		return rule
	case explicitChoice.MatchString(s) && !taskPattern.MatchString(s):
		return decision
	case planPattern.MatchString(s), toldPattern.MatchString(s) && !strongFinding.MatchString(s):
		return chatter
	case decisionPattern.MatchString(s) && !taskPattern.MatchString(s):
		return decision
	case who == index.User && taskPattern.MatchString(s):
		return chatter
	case momentPattern.MatchString(s):
		return chatter
	case findingPattern.MatchString(s):
		return finding
	}
	return detail
}

// reference matches words that point to the sentence before.
var reference = pattern(`it|its|it's|there|them|their|that|this|these|those|they|the (root )?(cause|reason|culprit|workaround|fix|problem|solution)`)

// A spoken is one sentence of a chunk. Its class is computed when it is first needed.
type spoken struct {
	text    string
	before  string
	hit     *index.Hit
	class   class
	isKnown bool
}

func (s *spoken) is() class {
	if !s.isKnown {
		s.class, s.isKnown = classify(s.text, s.hit.Role), true
	}
	return s.class
}

// lead returns the sentence before s if a reader cannot understand s without it, or else "". A reader needs the earlier
// sentence if s is a finding, a decision or a rule, contains no name, and refers back with a word such as "this".
func (s *spoken) lead() string {
	if s.before != "" && reference.MatchString(s.text) && s.is() > detail && s.is() != lifted && len(namesIn(s.text)) == 0 {
		return s.before
	}
	return ""
}

func saidIn(hits []index.Hit) (all []spoken) {
	for i := range hits {
		before, line := "", 0
		for text, at := range terms.Sentences(hits[i].Text) {
			if at != line {
				before = ""
			}
			all = append(all, spoken{text: text, before: before, hit: &hits[i]})
			before, line = text, at
		}
	}
	return all
}

// `empty` contains the stems of words that do not tell the topic of a sentence, for example "the", "use" or "file".
var empty = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range terms.Of(`a an the this that these those it its is are was were be been being am do does did done doing has have had having
		i you he she we they me us them my your his her our their mine yours what which who whom whose where when why how here there
		and or but if then else than so as of in on at to for from by with without about into over under after before between during through up down out off again
		no nor only own same too very can could will would shall should may might must need please just also all any both each few more most other some such
		let lets tell show give get got make makes made go goes going want wants now new use uses used using add fix write change look check run see know think
		thing things stuff way something anything everything one two first next last still already yet ever never always every don doesn didn isn won t s re ve ll d
		stand stands many much keep keeps say says said set put take takes work works working start stop does help find work code file files project`) {
		all[w] = true
	}
	return all
}()

// verb matches the word after the subject of a rule, for example "must".
var verb = pattern(`must|may|should|shall|can|always|never|needs?|has to|have to|is|are|do not|don'?t|gets?|begin|belongs?|stays?`)

// inOrder returns the terms that tell the topic of a text, in the order of the text. A term may occur several times.
func inOrder(text string) (all []string) {
	last := -1
	terms.Each(text, func(t []byte, at int) {
		if !empty[string(t)] && len(t) > 1 && at != last {
			all = append(all, string(t))
			last = at
		}
	})
	return all
}

// content returns the terms that tell the topic of a text, without repetitions.
func content(text string) (all []string) {
	for _, t := range terms.Of(text) {
		if !empty[t] && len(t) > 1 {
			all = append(all, t)
		}
	}
	return all
}
