// Package contenders holds the programs that are measured: cronce, its peers,
// and a bare loop that does the least that the work can take. Each runs in a
// child process of package rig, with the settings that suit it best.
package contenders
