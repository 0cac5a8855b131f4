// Package guard decides who may read what from a program that answers HTTP: the bearers of one token, or those to whom
// the cluster grants it.
//
//	token ──▶ One: compared in constant time
//	      └─▶ Reviews: TokenReview ──▶ user ──▶ SubjectAccessReview for each right ──▶ admitted
//	                   └──────── remembered for ten seconds ────────┘
//
// # What is guaranteed
//
//   - An error of Admit has the status to answer with: 401, 403, or 503 where the cluster could not be asked.
//   - Tokens are not kept, only their hashes.
//
// # What is not
//
//   - That a right which is taken away stops working at once: answers count for ten seconds, a yes or a no.
package guard
