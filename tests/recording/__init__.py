"""Tests of recording from outside: how programs are started and ended, and which recordings are used again."""
