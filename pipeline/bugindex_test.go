package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// bugIndex lists every bug class of docs/defects.md. For each it names the test and
// the test's directory, or the reason why there is no test.
var bugIndex = []struct{ class, in, test, why string }{
	{class: "A1", in: ".", test: "TestBugA1OldReduceCallGoesOnABustOnly"},
	{class: "A2", in: ".", test: "TestBugA2ImageGoesOnABustOnly"},
	{class: "A3", in: ".", test: "TestBugA3PlaceholderIsOfTheTagAlone"},
	{class: "A4", in: ".", test: "TestBugA4BustThatIsNotWorthItCleansNothing"},
	{class: "A5", in: "../internal/host", test: "TestBugA5FlushIsSpentByItsPass"},
	{class: "A6", in: "../internal/host", test: "TestHistorianPublishesAndTheNextBustShowsIt"},
	{class: "A7", in: ".", test: "TestBugA7HardPassDrainsInTheSameBust"},
	{class: "A8", in: ".", test: "TestBugA8HardPassEndsItself"},
	{class: "A9", in: ".", test: "TestBugA9QueuedDropWaitsForTheEndOfTheTurn"},
	{class: "A10", in: ".", test: "TestBugA10IdleBustsOncePerTurn"},
	{class: "A10", in: ".", test: "TestBugA10IdleBustsOnceBeforeTheAnswer"},
	{class: "A10", in: "../internal/host", test: "TestBugA10RestartDoesNotMakeTheSessionIdleAgain"},
	{class: "A11", in: "../internal/host", test: "TestBugA11MidnightLeavesThePromptAlone"},
	{class: "A12", in: "../internal/host", test: "TestBugA12DateWaitsForItsRequest"},
	{class: "A13", in: "../internal/host", test: "TestBugA13HashIsText"},
	{class: "A14", in: "../internal/host", test: "TestBugA14TakenTagCostsOnePass"},
	{class: "A15", in: "../internal/host", test: "TestBugA14TakenTagCostsOnePass"},
	{class: "A16", why: "impossible: nothing remembers whether the state was loaded; one host owns the store, and a pass that fails forgets its memory"},
	{class: "A17", in: ".", test: "TestBugA17WhatWasTakenStaysTaken"},
	{class: "A18", in: ".", test: "TestBugA18IncompressibleTextIsDecidedOnce"},
	{class: "A19", in: ".", test: "TestBugA19PauseIsShownForEver"},
	{class: "A20", in: ".", test: "TestBugA20TodoListStaysAsItWasShown"},
	{class: "A21", why: "later: there are no nudges about notes yet"},
	{class: "A22", in: "../internal/host", test: "TestBugA22ReminderBustsNothing"},
	{class: "A23", why: "later: there is no automatic search yet"},
	{class: "A24", why: "later: there is no automatic search yet"},
	{class: "A25", why: "impossible: what is decided are rows, not sets that are written whole, and one host owns the store"},
	{class: "A26", in: "../internal/host", test: "TestBugA26ModeDoesNotFlap"},
	{class: "A27", why: "impossible: the host puts no message into a session"},
	{class: "A28", in: ".", test: "TestBugA28EveryPressureFromTheThresholdOnIsABust"},
	{class: "A28", in: "../internal/host", test: "TestBugA28ThresholdIsCapped"},
	{class: "A29", in: ".", test: "TestBugA29SameMeasurementDropsNothingMore"},
	{class: "A30", in: "rule", test: "TestBugA30LowerTagsAreStillThereForTheNextEmergency"},
	{class: "A31", in: ".", test: "TestBugA31SkeletonStaysASkeleton"},
	{class: "A32", in: ".", test: "TestBugA32NoPatchTakesAMessageOut"},
	{class: "A33", in: ".", test: "TestBugA33ReasoningBehindNothingIsFirst"},
	{class: "A34", in: ".", test: "TestInvariant14NothingIsInNeitherPlace"},
	{class: "A35", in: "../internal/host", test: "TestMarkerIsSetAfterTheBustThatShowsTheHistory"},
	{class: "A36", in: "../internal/host", test: "TestBugA36PassesOfASessionTakeTurns"},
	{class: "A37", why: "impossible: no pass waits for a historian"},
	{class: "A38", in: "../internal/host", test: "TestBugA38LimitIsOfItsModel"},
	{class: "A39", in: "../internal/host", test: "TestBugA39PassesSendNoMessages"},
	{class: "A40", why: "impossible: no pass ends a request; if nothing can be summarised, it drops by the rules"},
	{class: "A41", in: "../internal/host", test: "TestBugA41LimitsAreSane"},
	{class: "A42", in: "history", test: "TestBugH4BudgetsDoNotDependOnUsage"},
	{class: "A43", in: ".", test: "TestBugA43SubagentBustsAsOftenAsItNeeds"},

	{class: "B1", in: ".", test: "TestBugB1ThinkingStandsFirst"},
	{class: "B2", in: ".", test: "TestBugB2UserMessageIsNeverEmptied"},
	{class: "B3", in: ".", test: "TestBugB3OtherProvidersKeepTheirReasoning"},
	{class: "B4", in: ".", test: "TestBugB4NothingEmptyIsSent"},
	{class: "B5", in: ".", test: "TestBugB5ClampedInputIsWholeText"},
	{class: "B6", in: ".", test: "TestBugB6NewestCallsStayVisible"},
	{class: "B7", in: ".", test: "TestBugB7FileIsContent"},
	{class: "B8", in: ".", test: "TestBugB8SignedDataWithoutTextStays"},
	{class: "B9", in: ".", test: "TestBugB9ImitatedTagsComeOffWhole"},
	{class: "B10", in: ".", test: "TestBugB10DropOfAnOldCallSparesTheNewOne"},
	{class: "B11", in: ".", test: "TestBugB11EachStepKeepsItsOwnResult"},
	{class: "B12", in: ".", test: "TestBugB12RunningToolKeepsItsQueuedDrop"},
	{class: "B13", in: "rule", test: "TestBugB13OnlyWhatCanGoCounts"},
	{class: "B14", in: "rule", test: "TestBugB14TailIsAllThatIsActive"},
	{class: "B15", in: ".", test: "TestBugB15ArgumentsAreCountedOnce"},
	{class: "B16", in: "rule", test: "TestBugB16NothingInvisibleIsDropped"},
	{class: "B17", in: "../internal/host", test: "TestBugB17SpecialTokensAreText"},
	{class: "B18", why: "later: nothing is embedded yet"},
	{class: "B19", in: "nudge", test: "TestBugB19NobodyIsNagged"},
	{class: "B19", in: "../internal/host", test: "TestBugB19ReminderIsOfThePileThatIsThere"},
	{class: "B20", in: "../internal/host", test: "TestBugB20MessageIsNotSpentOnAGuess"},
	{class: "B21", in: "../internal/host", test: "TestBugB21BusyDatabaseDelaysTheBustNotTheWire"},
	{class: "B22", in: "../internal/host", test: "TestBugB22RemovedMessageTakesItsToolsAlong"},
	{class: "B23", in: "../internal/host", test: "TestBugB23BrokenImageHasASize"},
	{class: "B24", in: "../internal/host", test: "TestBugB24SteadyPassAsksNothing"},
	{class: "B24", in: ".", test: "TestSteadyPassRendersOnlyTheNewTail"},

	{class: "C1", in: ".", test: "TestDefectC1ReusedCallIDGetsItsOwnTag"},
	{class: "C2", in: ".", test: "TestDefectC2MovedPartKeepsTextAndTag"},
	{class: "C3", in: ".", test: "TestDefectC3BustAndNextPassSendTheSame"},
	{class: "C4", in: ".", test: "TestDefectC4StrippedAnswerKeepsItsReasoning"},
	{class: "C5", in: ".", test: "TestDefectC5PausesCanBeSwitchedOnAndOff"},
	{class: "C6", in: "../internal/host", test: "TestDefectC6DateRidesOnAnotherChange"},
	{class: "C7", in: ".", test: "TestDefectC7ReasoningGoesWithItsReduceCall"},
	{class: "C8", in: ".", test: "TestDefectC8BlankTextGetsNoTag"},
	{class: "C9", in: ".", test: "TestDefectC9NobodyGetsCleared"},
	{class: "C10", in: ".", test: "TestDefectC10FlushKeepsProtection"},
	{class: "C11", in: ".", test: "TestDefectC11PressureSurvivesARestart"},
	{class: "C12", in: ".", test: "TestDefectC12DropTouchesOnlyItsMessage"},
	{class: "C13", in: ".", test: "TestDefectC13UnknownShapesAreLeftAlone"},
	{class: "C14", in: "../internal/host", test: "TestBugA26ModeDoesNotFlap"},
	{class: "C15", in: ".", test: "TestDefectC15BlanksDoNotProtectImitatedTags"},
	{class: "C16", in: ".", test: "TestDefectC16CompressedTextStillSaysTheSame"},
	{class: "C17", in: ".", test: "TestDefectC17RunningToolSurvivesAnEmergency"},
	{class: "C18", in: ".", test: "TestDefectC18IdleInTheMiddleOfATurnIsNotLost"},
	{class: "C19", in: ".", test: "TestDefectC19DroppedCallTakesItsReasoningWhole"},
	{class: "C20", in: "../internal/host", test: "TestDefectC20RemovedMessageLeavesNothing"},

	{class: "H3", in: "history", test: "TestBugH3MemoryExpiresWithTheFold"},
	{class: "H4", in: "history", test: "TestBugH4BudgetsDoNotDependOnUsage"},
	{class: "H5", in: "history", test: "TestBugH5DocumentsDoNotDriveOutTheHistory"},
	{class: "H6", in: "history", test: "TestBugH6CompartmentWithoutTiersShowsItsContent"},
	{class: "H7", in: "history", test: "TestBugH7OpenCallNeverShrinksTheTail"},
	{class: "H8", in: "history", test: "TestBugH8DeadCallBlocksNothing"},
	{class: "H9", in: "history", test: "TestBugH9FirstCompartmentIsPossible"},
	{class: "H13", in: "history", test: "TestBugH13ArrayBehindACompartmentEnds"},
	{class: "H14", in: "history", test: "TestBugH14UnreadableMessageHidesNoOther"},
	{class: "H15", in: "../store", test: "TestBugH15SequencesHaveNoGap"},
	{class: "H17", in: "../store", test: "TestBugH17EverythingIsThereWhenThePublicationReturns"},
	{class: "H24", in: "../agents/historian", test: "TestBugH24AbortReachesTheAgent"},
	{class: "H25", in: "../agents/historian", test: "TestBugH25EmptyAnswerGoesToTheNextModel"},
	{class: "H26", in: "history", test: "TestBugH26ArchivedMemoryStaysArchived"},
	{class: "H27", in: "../agents/historian", test: "TestBugH27FactsComeFromTheirBlock"},
	{class: "H28", in: "history", test: "TestBugH28SessionWithOnePromptStaysSummarisable"},
	{class: "H29", in: "history", test: "TestBugH29ReadFilesDoNotFire"},
	{class: "H30", in: "history", test: "TestBugH30DroppedContentCounts"},
	{class: "H33", in: "../store", test: "TestBugH33LeaseIsCheckedInTheTransaction"},
	{class: "H34", in: "../internal/projectdocs", test: "TestBugH34LinkedDocumentIsNotRead"},
	{class: "H34", in: "../internal/projectdocs", test: "TestBugH34SwappedDocumentIsNotRead"},
	{class: "H37", in: "../store", test: "TestBugH37FaultBetweenAnyTwoStatements"},
	{class: "H41", in: "history", test: "TestBugH41NoiseAtTheEndDoesNotFire"},
	{class: "H43", why: "impossible: if nothing can be summarised, the pass drops by the rules, and nobody is told"},
	{class: "H44", in: "../agents/historian", test: "TestBugH44EntitiesAreDecodedOnce"},
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// Every class has an entry. Each test that the index names must exist. If a class has
// no test, because the test is put off or impossible, the entry must give the reason.
func TestBugIndex(t *testing.T) {
	tests := map[string]map[string]bool{}
	for _, dir := range []string{".", "rule", "nudge", "history", "../internal/host", "../internal/projectdocs", "../store", "../agents/historian"} {
		tests[dir] = map[string]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		must(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			must(t, err)
			for _, m := range testFunc.FindAllStringSubmatch(string(source), -1) {
				tests[dir][m[1]] = true
			}
		}
	}
	named := map[string]bool{}
	for _, b := range bugIndex {
		named[b.class] = true
		if (b.test == "") == (b.why == "") || b.test != "" && !tests[b.in][b.test] {
			t.Errorf("%s: no test %q in %s, and no reason: %q", b.class, b.test, b.in, b.why)
		}
	}
	for group, n := range map[string]int{"A": 43, "B": 24, "C": 20} {
		for i := 1; i <= n; i++ {
			if class := fmt.Sprint(group, i); !named[class] {
				t.Errorf("%s is not in the index", class)
			}
		}
	}
	byName := regexp.MustCompile(`^Test(Bug|Defect)[ABCH]\d`)
	for dir, names := range tests {
		for name := range names {
			listed := false
			for _, b := range bugIndex {
				listed = listed || b.in == dir && b.test == name
			}
			if byName.MatchString(name) && !listed {
				t.Errorf("%s in %s is not in the index", name, dir)
			}
		}
	}
}
