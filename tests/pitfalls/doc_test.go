// Package pitfalls is the list of mistakes that people make with informers and queues, one test each.
//
//	go test -v ./tests/pitfalls -run TestPitfall_ForgetAfterAddRateLimited
//
// Each test has two halves with the same signature: naive is what people write, right is what holds. Both are put before the same
// property, each in a cluster of its own in virtual time, and contrast wants naive to break it and right to keep it. So a
// naive half that is mended turns its test red, and so does one that fails in another way than its comment says.
//
//	             ┌──▶ naive ──▶ breaks it, with the words after "You see:"
//	property ────┤
//	             └──▶ right ──▶ keeps it
//
// The comment of each test has a fixed form, from which docs/pitfalls.md is made:
//
//	// The mistake, in one sentence.
//	//
//	// Why: what goes wrong, and why.
//	//
//	// You see: the error of the property, word by word.
//	//
//	// Instead: what to do.
//
// To write the page again after a change:
//
//	go test ./tests/pitfalls -run TestPage -update
//
// The halves use client-go's types, for that is where people meet these mistakes. With the layers of this repository most of them can
// be made just as well; tests/userasks shows which cannot. What is not shown: mistakes that only a real cluster punishes, such as missing
// permissions.
package pitfalls
