"""What a set becomes in other programs' own words: files that bring it back after a reboot. Pure: settings to settings.

Modules here are imported by their full names; each knows one program's language.
"""
