# fmt: off
from .page import BROWSER_FILES as BROWSER_FILES, Lesson as Lesson, lesson as lesson
