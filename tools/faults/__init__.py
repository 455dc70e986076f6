"""Fault injection: kills, failing disks, damaged files, hostile trees and repositories."""
