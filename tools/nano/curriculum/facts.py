"""Tables of simple facts about the calendar, measures, animals, things, science and people."""

MONTHS = (
    "January February March April May June July August September October November December"
).split()
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()

UNITS = """
a minute | seconds | 60
an hour | minutes | 60
a day | hours | 24
a week | days | 7
a year | months | 12
a year | weeks | 52
a year | days | 365
a leap year | days | 366
a decade | years | 10
a century | years | 100
a millennium | years | 1000
a meter | centimeters | 100
a meter | millimeters | 1000
a centimeter | millimeters | 10
a kilometer | meters | 1000
a kilogram | grams | 1000
a gram | milligrams | 1000
a metric ton | kilograms | 1000
a liter | milliliters | 1000
a liter | deciliters | 10
a foot | inches | 12
a yard | feet | 3
a yard | inches | 36
a mile | feet | 5280
a pound | ounces | 16
a gallon | quarts | 4
a dollar | cents | 100
a euro | cents | 100
a pound sterling | pence | 100
a dozen | pieces | 12
a pair | pieces | 2
a byte | bits | 8
a kibibyte | bytes | 1024
a right angle | degrees | 90
a full circle | degrees | 360
a week | working days | 5
a deck of cards | cards | 52
the alphabet | letters | 26
a soccer team | players | 11
a basketball team | players | 5
a volleyball team | players | 6
a chess board | squares | 64
a die | sides | 6
a rainbow | colors | 7
"""

COLORS = """
the sky on a clear day | blue
grass | green
snow | white
a banana | yellow
a lemon | yellow
a ripe tomato | red
blood | red
a carrot | orange
coal | black
milk | white
an orange | orange
a strawberry | red
a cucumber | green
chocolate | brown
a fire engine | red
an elephant | gray
a polar bear | white
a crow | black
a flamingo | pink
a frog | green
gold | yellow
salt | white
a sunflower | yellow
a pumpkin | orange
spinach | green
a swan | white
the sun in drawings | yellow
soil | brown
an emerald | green
a ruby | red
a sapphire | blue
ketchup | red
"""

SOUNDS = """
a dog | barks
a cat | meows
a cow | moos
a horse | neighs
a sheep | bleats
a pig | grunts
a duck | quacks
a lion | roars
a wolf | howls
a bee | buzzes
a frog | croaks
an owl | hoots
a snake | hisses
a rooster | crows
a mouse | squeaks
a donkey | brays
an elephant | trumpets
a crow | caws
a pigeon | coos
a cricket | chirps
a hen | clucks
a turkey | gobbles
"""

YOUNG = """
a dog | a puppy
a cat | a kitten
a cow | a calf
a horse | a foal
a sheep | a lamb
a pig | a piglet
a goat | a kid
a duck | a duckling
a goose | a gosling
a hen | a chick
a lion | a cub
a bear | a cub
a wolf | a pup
a fox | a cub
a deer | a fawn
a kangaroo | a joey
a frog | a tadpole
a butterfly | a caterpillar
an elephant | a calf
a whale | a calf
a swan | a cygnet
an owl | an owlet
a rabbit | a kit
a seal | a pup
an eagle | an eaglet
"""

HOMES = """
a bird | in a nest
a bee | in a hive
a dog | in a kennel
a horse | in a stable
a pig | in a sty
a spider | in a web
a rabbit | in a burrow
a lion | in a den
an ant | in an anthill
a beaver | in a lodge
a cow | in a barn
a hen | in a coop
a fish | in water
a polar bear | in the Arctic
a penguin | in the southern half of the world
a camel | in the desert
a kangaroo | in Australia
a panda | in China
a koala | in Australia
a tiger | in Asia
"""

FOODS = """
a cow | grass
a horse | grass and hay
a lion | meat
a panda | bamboo
a koala | eucalyptus leaves
a rabbit | grass and vegetables
a squirrel | nuts and seeds
a cat | meat and fish
a giraffe | leaves
a penguin | fish
a spider | insects
a frog | insects
an anteater | ants and termites
a caterpillar | leaves
an owl | mice and other small animals
a shark | fish and other sea animals
a butterfly | nectar
a wolf | meat
a sheep | grass
a mosquito | nectar and blood
"""

LEGS = """
a dog | 4
a cat | 4
a spider | 8
an insect | 6
a bird | 2
a snake | no
a fish | no
a person | 2
a horse | 4
an ant | 6
a crab | 10
a chicken | 2
a scorpion | 8
a fly | 6
a worm | no
an elephant | 4
a bee | 6
a frog | 4
a lizard | 4
a snail | no
a whale | no
"""

SHAPES = """
a triangle | 3
a square | 4
a rectangle | 4
a pentagon | 5
a hexagon | 6
a heptagon | 7
an octagon | 8
a nonagon | 9
a decagon | 10
"""

ELEMENTS = """
hydrogen | H | 1
helium | He | 2
lithium | Li | 3
beryllium | Be | 4
boron | B | 5
carbon | C | 6
nitrogen | N | 7
oxygen | O | 8
fluorine | F | 9
neon | Ne | 10
sodium | Na | 11
magnesium | Mg | 12
aluminum | Al | 13
silicon | Si | 14
phosphorus | P | 15
sulfur | S | 16
chlorine | Cl | 17
argon | Ar | 18
potassium | K | 19
calcium | Ca | 20
titanium | Ti | 22
chromium | Cr | 24
manganese | Mn | 25
iron | Fe | 26
cobalt | Co | 27
nickel | Ni | 28
copper | Cu | 29
zinc | Zn | 30
arsenic | As | 33
bromine | Br | 35
krypton | Kr | 36
silver | Ag | 47
tin | Sn | 50
iodine | I | 53
xenon | Xe | 54
barium | Ba | 56
tungsten | W | 74
platinum | Pt | 78
gold | Au | 79
mercury | Hg | 80
lead | Pb | 82
radon | Rn | 86
radium | Ra | 88
uranium | U | 92
plutonium | Pu | 94
"""

LISTS = """
the days of the week | Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday
the seasons | spring, summer, autumn and winter
the planets | Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune
the continents | Africa, Antarctica, Asia, Australia, Europe, North America and South America
the oceans | the Arctic, Atlantic, Indian, Pacific and Southern Ocean
the colors of the rainbow | red, orange, yellow, green, blue, indigo and violet
the primary colors | red, yellow and blue
the states of matter | solid, liquid and gas
the five senses | sight, hearing, smell, taste and touch
the vowels | a, e, i, o and u
the four directions | north, east, south and west
the first five prime numbers | 2, 3, 5, 7 and 11
the even numbers up to ten | 2, 4, 6, 8 and 10
the odd numbers up to ten | 1, 3, 5, 7 and 9
the Great Lakes | Superior, Michigan, Huron, Erie and Ontario
the three meals of the day | breakfast, lunch and dinner
the months of spring | March, April and May
the months of summer | June, July and August
the months of autumn | September, October and November
the months of winter | December, January and February
the weekend days | Saturday and Sunday
the noble gases | helium, neon, argon, krypton, xenon and radon
"""

# Asked as "What is ...?" and answered as "... is ...".
FACTS = """
the boiling point of water | 100 degrees Celsius
the freezing point of water | 0 degrees Celsius
the chemical formula of water | H2O
the chemical formula of carbon dioxide | CO2
the chemical formula of table salt | NaCl
the normal temperature of the human body | about 37 degrees Celsius
the largest planet | Jupiter
the smallest planet | Mercury
the planet nearest to the sun | Mercury
the hottest planet | Venus
the red planet | Mars
the planet with the bright rings | Saturn
the star nearest to the earth | the sun
the galaxy in which we live | the Milky Way
the fastest land animal | the cheetah
the largest animal | the blue whale
the largest land animal | the elephant
the tallest animal | the giraffe
the largest bird | the ostrich
the smallest bird | the bee hummingbird
the king of animals | the lion
the largest organ of the human body | the skin
the longest bone of the human body | the femur
the organ that pumps blood | the heart
the organ with which we think | the brain
the gas that we need to breathe | oxygen
the most common gas in the air | nitrogen
the lightest element | hydrogen
the hardest natural material | diamond
the metal that is liquid at room temperature | mercury
the force that pulls things down | gravity
the study of stars and planets | astronomy
the study of living things | biology
the study of plants | botany
the study of animals | zoology
the study of the past | history
the frozen form of water | ice
the gas form of water | steam
the speed of light | about 300,000 kilometers per second
the distance from the earth to the moon | about 384,000 kilometers
the number pi to two places | 3.14
the square root of 9 | 3
the square root of 16 | 4
the square root of 25 | 5
the square root of 100 | 10
the square of 5 | 25
the square of 10 | 100
the first letter of the alphabet | A
the last letter of the alphabet | Z
the last month of the year | December
the shortest month of the year | February
the warmest season of the year | summer
the coldest season of the year | winter
the season after winter | spring
the season after summer | autumn
the season after spring | summer
the season after autumn | winter
the shape of a ball | a sphere
the shape of a wheel | a circle
the shape of a box | a cuboid
the meal in the morning | breakfast
the meal in the middle of the day | lunch
the meal in the evening | dinner
the main ingredient of bread | flour
the main ingredient of cheese | milk
the main ingredient of an omelet | eggs
the main ingredient of french fries | potatoes
the color of a mix of blue and yellow | green
the color of a mix of red and yellow | orange
the color of a mix of red and blue | purple
the color of a mix of black and white | gray
the smallest prime number | 2
the only even prime number | 2
the number of days in February in a leap year | 29
"""

# Question after the question word, the same as a statement, the answer.
REASONS = """
is the sky blue | the sky is blue | The air scatters blue light more than red light.
is grass green | grass is green | Grass contains chlorophyll, which is green.
is the sea salty | the sea is salty | Rivers carry salt from the rocks into the sea.
does ice float | ice floats | Ice is less dense than water.
do leaves fall in autumn | leaves fall in autumn | Trees drop their leaves to save water in winter.
do we sleep | we sleep | Sleep gives the body and the brain time to rest.
do we eat | we eat | Food gives the body energy.
do we need water | we need water | The body consists mostly of water and loses some every day.
do birds fly south | birds fly south | It is warmer there in winter and there is more food.
do bees make honey | bees make honey | Honey is their food for the winter.
do cats purr | cats purr | Cats mostly purr when they feel well.
do dogs wag their tails | dogs wag their tails | Dogs show with their tails how they feel.
do we have seasons | we have seasons | The axis of the earth is tilted.
is there day and night | there is day and night | The earth turns around its axis once a day.
does it rain | it rains | Drops in the clouds become too heavy and fall down.
do we see lightning before thunder | we see lightning before thunder | Light is faster than sound.
does the moon shine | the moon shines | The moon reflects the light of the sun.
do things fall down | things fall down | Gravity pulls them toward the earth.
do plants need light | plants need light | Plants use light to make their food.
do plants need water | plants need water | Water carries food through the plant.
do we brush our teeth | we brush our teeth | Brushing keeps the teeth clean and healthy.
do we wash our hands | we wash our hands | Washing removes dirt and germs.
do we wear coats in winter | we wear coats in winter | Coats keep the body warm.
does metal feel cold | metal feels cold | Metal carries heat away from the hand quickly.
do zebras have stripes | zebras have stripes | The stripes seem to keep biting flies away.
do giraffes have long necks | giraffes have long necks | They can reach leaves high in the trees.
do camels have humps | camels have humps | A hump stores fat as food for hard times.
do fish have gills | fish have gills | Gills take oxygen from the water.
do we blink | we blink | Blinking keeps the eyes wet and clean.
do we sweat | we sweat | Sweat cools the body.
do we yawn | we yawn | We mostly yawn when we are tired or bored.
do onions make us cry | onions make us cry | Cut onions give off a gas that stings the eyes.
does bread rise | bread rises | Yeast makes gas bubbles in the dough.
does iron rust | iron rusts | Iron reacts with oxygen and water.
do boats float | boats float | A boat pushes away water that weighs as much as the boat.
do people learn languages | people learn languages | They want to talk with more people.
do people read books | people read books | Books bring knowledge and pleasure.
do owls hunt at night | owls hunt at night | Owls see and hear very well in the dark.
do snakes shed their skin | snakes shed their skin | The old skin gets too small when they grow.
is the desert dry | the desert is dry | It hardly ever rains there.
is the sun hot | the sun is hot | Hydrogen turns into helium in its core and sets energy free.
do stars twinkle | stars twinkle | The moving air bends their light.
do we have bones | we have bones | Bones hold the body up and protect its organs.
do hearts beat | hearts beat | The heart pumps blood through the body.
"""

USES = """
a hammer | to hit nails
a knife | to cut things
a spoon | to eat soup
a pen | to write
a key | to open a lock
a bed | to sleep
an umbrella | to stay dry in the rain
a clock | to see what time it is
a thermometer | to measure temperature
a ruler | to measure length
a scale | to measure weight
a telescope | to look at stars
a microscope | to look at very small things
a camera | to take pictures
a phone | to talk to people far away
a broom | to sweep the floor
an oven | to bake bread and cakes
a fridge | to keep food cold
a ladder | to climb up to high places
a saw | to cut wood
a needle | to sew
scissors | to cut paper and cloth
a towel | to dry themselves
soap | to wash
a toothbrush | to clean the teeth
a comb | to make the hair neat
a map | to find the way
a compass | to find north
a bridge | to cross a river
a lamp | to make a room bright
a mirror | to see themselves
a lock | to keep a door closed
a helmet | to protect the head
a bag | to carry things
a computer | to work with data and programs
a dictionary | to look up words
a tent | to sleep outside
a boat | to travel on water
a plane | to fly to other places
a piano | to play music
glasses | to see better
money | to buy things
"""

BODY = """
eyes | to see
ears | to hear
the nose | to smell
the tongue | to taste
the skin | to feel
legs | to walk
hands | to hold things
teeth | to chew food
lungs | to breathe
the heart | to pump blood
the brain | to think
the stomach | to digest food
"""

MADE_OF = """
a window | glass
bread | flour and water
a book | paper
cheese | milk
butter | cream
wine | grapes
a tire | rubber
a candle | wax
a sweater | wool
a chair | wood or plastic
a knife | steel
a coin | metal
ice | frozen water
paper | wood
chocolate | cocoa, sugar and milk
an omelet | eggs
a snowman | snow
a brick | clay
jam | fruit and sugar
ketchup | tomatoes
a cloud | tiny drops of water
a pearl | layers that a shellfish makes
beer | water, barley and hops
olive oil | olives
"""
