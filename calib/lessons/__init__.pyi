# fmt: off
from .chapters import ClassDot as ClassDot, StarSplit as StarSplit, star_split as star_split
from .page import BROWSER_FILES as BROWSER_FILES, Lesson as Lesson, lesson as lesson
