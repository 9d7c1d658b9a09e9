# ruff: noqa: SIM905
"""Word lists the generators draw from. All written for this project."""

from __future__ import annotations

FIRST_NAMES = """John Jane Alice Bob Carol David Emma Frank Grace Henry Irene Jack Karen Leo Maria Nina Oscar Paula
    Quentin Rachel Samuel Tina Victor Wendy Adam Ben Clara Daniel Eva Felix Hannah Ian Julia Kevin
    Laura Mark Nora Oliver Peter Rosa Sarah Thomas Ursula Vera Walter Anna Carlos Diego Elena Fatima
    George Hiro Isabel Jonas Kenji Lena Marco Nadia Omar Priya Ravi Sofia Tariq Yuki Zara James Mary
    Robert Linda Michael Susan William Lisa Tom Amy Joe Mia Noah Ella Lucas Ivy Max Ruth Paul Lucy
    Simon Kate Hugo Olga Ivan Mei Chen Amir Leila José Zoë René Chloé Björn Søren""".split()
LAST_NAMES = """Smith Doe Johnson Brown Miller Davis Wilson Moore Taylor Anderson Thomas Jackson White Harris
    Martin Garcia Clark Lewis Lee Walker Hall Allen Young King Wright Scott Green Baker Adams Nelson
    Hill Campbell Mitchell Roberts Carter Phillips Evans Turner Parker Collins Edwards Stewart Morris
    Murphy Cook Rogers Reed Bell Cooper Ward Cox Gray Watson Brooks Price Bennett Wood Ross Fischer
    Weber Schmidt Rossi Silva Santos Tanaka Sato Kim Park Nguyen Patel Singh Khan Ali Novak Petrov
    Ivanov Jensen Larsen Dubois Moreau Lopez Müller Núñez""".split()
CITIES: dict[str, str] = {
    "Paris": "France",
    "Lyon": "France",
    "London": "United Kingdom",
    "Manchester": "United Kingdom",
    "Berlin": "Germany",
    "Munich": "Germany",
    "Rome": "Italy",
    "Milan": "Italy",
    "Madrid": "Spain",
    "Barcelona": "Spain",
    "Lisbon": "Portugal",
    "Vienna": "Austria",
    "Prague": "Czech Republic",
    "Warsaw": "Poland",
    "Oslo": "Norway",
    "Stockholm": "Sweden",
    "Helsinki": "Finland",
    "Copenhagen": "Denmark",
    "Dublin": "Ireland",
    "Athens": "Greece",
    "Cairo": "Egypt",
    "Nairobi": "Kenya",
    "Lagos": "Nigeria",
    "Tokyo": "Japan",
    "Osaka": "Japan",
    "Seoul": "South Korea",
    "Beijing": "China",
    "Shanghai": "China",
    "Delhi": "India",
    "Mumbai": "India",
    "Sydney": "Australia",
    "Melbourne": "Australia",
    "Toronto": "Canada",
    "Montreal": "Canada",
    "Boston": "United States",
    "Chicago": "United States",
    "Seattle": "United States",
    "Denver": "United States",
    "New York": "United States",
    "San Francisco": "United States",
    "Mexico City": "Mexico",
    "Lima": "Peru",
    "Bogota": "Colombia",
    "Santiago": "Chile",
    "Zürich": "Switzerland",
}
CAPITALS: dict[str, str] = {
    "France": "Paris",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Portugal": "Lisbon",
    "Austria": "Vienna",
    "Poland": "Warsaw",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Finland": "Helsinki",
    "Denmark": "Copenhagen",
    "Ireland": "Dublin",
    "Greece": "Athens",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Japan": "Tokyo",
    "South Korea": "Seoul",
    "China": "Beijing",
    "Peru": "Lima",
    "Chile": "Santiago",
}
STREETS = """Main Oak Maple Cedar Pine Elm Park Lake Hill River Church High School Station Mill Garden Bridge
    Market Green Spring Forest Sunset Washington Lincoln Victoria King Queen""".split()
STREET_KINDS = ["Street", "St", "Avenue", "Road", "Lane", "Drive", "Way"]
DOMAINS = ["example.com", "example.org", "example.net", "mail.example.com", "test.org"]
JOBS = """teacher doctor engineer nurse carpenter lawyer chef pilot farmer artist journalist architect
    plumber electrician programmer accountant librarian musician baker mechanic scientist dentist
    translator designer gardener manager driver writer photographer analyst""".split()
HOBBIES = """reading swimming cooking hiking chess painting cycling gardening photography running dancing
    fishing skiing sailing drawing singing climbing knitting travel yoga football tennis guitar piano
    gaming astronomy baking pottery""".split()
ADJECTIVES = """small large red blue green old new quiet bright heavy light fast slow warm cold soft strong simple
    clean dark round long short fresh modern wooden silver golden plain""".split()
PRODUCTS = """lamp chair table desk keyboard mouse monitor phone notebook pen backpack bottle mug jacket shirt
    shoes watch camera speaker headphones bicycle tent blanket pillow clock mirror shelf sofa kettle
    toaster""".split()
COMPANIES = """Acme Globex Initech Umbrella Northwind Contoso Fabrikam Vandelay Hooli Stark Wayne Tyrell
    Cyberdyne Aperture Wonka Soylent""".split()
COMPANY_KINDS = """Corp Inc Ltd Group Bank Labs Airlines University Institute""".split()
MONTHS = """January February March April May June July August September October November December""".split()
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
COLOURS = """red blue green yellow black white orange purple brown pink gray""".split()
KINDS: dict[str, list[str]] = {
    "fruit": """apple banana orange pear grape cherry lemon mango peach plum melon kiwi""".split(),
    "animal": """dog cat horse cow lion tiger rabbit bear wolf fox sheep elephant""".split(),
    "vegetable": """carrot potato onion cabbage spinach broccoli pea bean turnip leek""".split(),
    "tool": """hammer saw drill wrench screwdriver pliers shovel rake axe chisel""".split(),
    "vehicle": """car truck bus train boat ship airplane bicycle tram motorcycle""".split(),
    "color": COLOURS,
    "instrument": """piano guitar violin flute drum trumpet cello harp clarinet""".split(),
    "city": """Paris London Berlin Rome Tokyo Madrid Vienna Cairo Oslo Lisbon""".split(),
    "country": """France Germany Italy Japan Spain Egypt Kenya Peru Norway China""".split(),
    "planet": """Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune""".split(),
    "bird": """eagle sparrow owl parrot penguin duck crow robin swan pigeon""".split(),
    "sport": """football tennis basketball hockey golf rugby volleyball cricket""".split(),
}
ITEMS = """apples oranges books pencils marbles cookies stickers coins cards balloons flowers eggs candies
    toys shells stamps tickets cups bananas muffins""".split()
FANTASY_NAMES = """Aldric Brenna Cedric Dorin Elowen Faelan Gwen Hadrian Isolde Jareth Kael Lyra Morgana Nyx Orin
    Perrin Quill Rowan Seraphina Thorin Ulric Vex Wulfgar Xara Ysolde Zephyr Bran Kara Drogan Elric
    Fenris Grom""".split()
FANTASY_SURNAMES = """Stormwind Ironfoot Oakenshield Shadowblade Brightwood Stoneheart Swiftarrow Blackthorn Ravenclaw
    Firebeard Silverleaf Darkwater Goldhand Winterborn Strongarm""".split()
FANTASY_CLASSES = """fighter wizard rogue cleric ranger paladin bard druid monk warrior""".split()
RACES = ["human", "elf", "dwarf", "halfling", "orc", "gnome"]
ARMOR = ["leather", "chainmail", "plate"]
WEAPONS = ["sword", "axe", "bow"]
FANTASY_ITEMS = """torch;healing potion;rope;map;lantern;shield;dagger;rations;magic ring;bedroll;spell book;lockpick;
silver key;water flask;cloak;amulet;scroll of fire;bag of coins;flint and steel;arrows;compass;gold coins""".replace(
    "\n", ""
).split(";")
MANTRAS = """Never give up;Honor above all;Strike first, strike fast;The light will guide me;Steel and courage;
Fortune favors the bold;No one gets left behind;For the glory of the king;Silence is my weapon;Nature provides;
Strength through discipline;Knowledge is power;Fight with honor;Stand your ground;One step at a time;
Victory or death;Protect the weak;Trust no one""".replace("\n", "").split(";")
