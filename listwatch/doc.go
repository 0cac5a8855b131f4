// Package listwatch is the wire: typed lists, pages and watch streams over HTTP.
package listwatch
