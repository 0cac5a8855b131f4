// Package pitfalls is the list of mistakes that people make with informers, queues and operators, one test each.
//
//	go test -v ./tests/pitfalls -run TestPitfall_ForgetAfterAddRateLimited
//
// Each test has two halves with the same signature. naive is what people write, and right is the correct way. contrast
// runs the same property with each half, in a cluster of its own and in virtual time. naive must break the property,
// and right must keep it. A naive half that is mended fails its test, and so does one that fails in another way than
// its comment says.
//
//	             ┌──▶ naive ──▶ breaks it, with the words after "You see:"
//	property ────┤
//	             └──▶ right ──▶ keeps it
//
// The comment of each test has a fixed form, from which docs/learn/pitfalls.md (ten for learners) and pitfalls-by-topic.md
// (the others) are made:
//
//	// The mistake, in one sentence.
//	//
//	// Why: what goes wrong, and why.
//	//
//	// You see: the error of the property, word by word.
//	//
//	// Instead: what to do.
//
// To write the pages again after a change:
//
//	go test ./tests/pitfalls -run TestPage -update
//
// The halves use client-go's types, for people make these mistakes there. With the layers of this repository most of
// them are possible, too; tests/userasks shows which are not. What a real cluster does besides the API server, such as
// to check rights, to resolve names and to mount volumes, is played by the property.
package pitfalls
