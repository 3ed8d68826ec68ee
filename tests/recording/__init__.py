"""Tests of recording from outside: how programs are started and stopped, and which recordings are reused."""
