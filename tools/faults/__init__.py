"""What codelens must survive: kills, failing disks, damaged files, hostile trees and repositories."""
