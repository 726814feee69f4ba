"""Well-known books, paintings, music, inventions and people."""

BOOKS = """
Romeo and Juliet | William Shakespeare
Hamlet | William Shakespeare
Macbeth | William Shakespeare
A Midsummer Night's Dream | William Shakespeare
Pride and Prejudice | Jane Austen
Emma | Jane Austen
Oliver Twist | Charles Dickens
A Christmas Carol | Charles Dickens
David Copperfield | Charles Dickens
Alice in Wonderland | Lewis Carroll
Robinson Crusoe | Daniel Defoe
Gulliver's Travels | Jonathan Swift
Treasure Island | Robert Louis Stevenson
The Jungle Book | Rudyard Kipling
Peter Pan | J. M. Barrie
Frankenstein | Mary Shelley
Dracula | Bram Stoker
Jane Eyre | Charlotte Bronte
Wuthering Heights | Emily Bronte
The Time Machine | H. G. Wells
The War of the Worlds | H. G. Wells
Sherlock Holmes | Arthur Conan Doyle
The Hobbit | J. R. R. Tolkien
The Lord of the Rings | J. R. R. Tolkien
Harry Potter | J. K. Rowling
The Chronicles of Narnia | C. S. Lewis
Animal Farm | George Orwell
Nineteen Eighty-Four | George Orwell
Brave New World | Aldous Huxley
Murder on the Orient Express | Agatha Christie
Tom Sawyer | Mark Twain
Huckleberry Finn | Mark Twain
Moby-Dick | Herman Melville
The Raven | Edgar Allan Poe
The Old Man and the Sea | Ernest Hemingway
The Great Gatsby | F. Scott Fitzgerald
To Kill a Mockingbird | Harper Lee
Little Women | Louisa May Alcott
The Call of the Wild | Jack London
The Wizard of Oz | L. Frank Baum
The Little Prince | Antoine de Saint-Exupery
The Three Musketeers | Alexandre Dumas
The Count of Monte Cristo | Alexandre Dumas
Les Miserables | Victor Hugo
Around the World in Eighty Days | Jules Verne
Twenty Thousand Leagues Under the Seas | Jules Verne
Don Quixote | Miguel de Cervantes
War and Peace | Leo Tolstoy
Anna Karenina | Leo Tolstoy
Crime and Punishment | Fyodor Dostoevsky
Faust | Johann Wolfgang von Goethe
The Metamorphosis | Franz Kafka
Pinocchio | Carlo Collodi
Heidi | Johanna Spyri
Pippi Longstocking | Astrid Lindgren
The Little Mermaid | Hans Christian Andersen
The Ugly Duckling | Hans Christian Andersen
The Divine Comedy | Dante Alighieri
The Odyssey | Homer
The Iliad | Homer
The Aeneid | Virgil
The Canterbury Tales | Geoffrey Chaucer
On the Origin of Species | Charles Darwin
Winnie-the-Pooh | A. A. Milne
"""

PAINTINGS = """
the Mona Lisa | Leonardo da Vinci
the Last Supper | Leonardo da Vinci
the ceiling of the Sistine Chapel | Michelangelo
The Starry Night | Vincent van Gogh
Sunflowers | Vincent van Gogh
Guernica | Pablo Picasso
The Scream | Edvard Munch
The Night Watch | Rembrandt
Girl with a Pearl Earring | Johannes Vermeer
The Birth of Venus | Sandro Botticelli
Water Lilies | Claude Monet
The Kiss | Gustav Klimt
The Persistence of Memory | Salvador Dali
The Great Wave | Hokusai
"""

MUSIC = """
The Magic Flute | Wolfgang Amadeus Mozart
The Marriage of Figaro | Wolfgang Amadeus Mozart
the Moonlight Sonata | Ludwig van Beethoven
the Ode to Joy | Ludwig van Beethoven
The Four Seasons | Antonio Vivaldi
Messiah | George Frideric Handel
the Brandenburg Concertos | Johann Sebastian Bach
Swan Lake | Pyotr Tchaikovsky
The Nutcracker | Pyotr Tchaikovsky
Carmen | Georges Bizet
Aida | Giuseppe Verdi
The Blue Danube | Johann Strauss
Bolero | Maurice Ravel
Peter and the Wolf | Sergei Prokofiev
The Planets | Gustav Holst
The Ring of the Nibelung | Richard Wagner
The Barber of Seville | Gioachino Rossini
Rhapsody in Blue | George Gershwin
"""

INVENTIONS = """
the telephone | Alexander Graham Bell
the phonograph | Thomas Edison
dynamite | Alfred Nobel
the first powered airplane | the Wright brothers
the World Wide Web | Tim Berners-Lee
the printing press with movable type | Johannes Gutenberg
the lightning rod | Benjamin Franklin
the electric battery | Alessandro Volta
the diesel engine | Rudolf Diesel
the first practical motor car | Carl Benz
writing for the blind | Louis Braille
the mercury thermometer | Daniel Gabriel Fahrenheit
the C programming language | Dennis Ritchie
the Linux kernel | Linus Torvalds
the Python language | Guido van Rossum
C++ | Bjarne Stroustrup
the first vaccine | Edward Jenner
the Rubik's Cube | Erno Rubik
"""

# Asked as "Who ...?" and answered as "NAME ...".
DEEDS = """
discovered penicillin | Alexander Fleming
discovered radium | Marie Curie
discovered X-rays | Wilhelm Roentgen
described gravity in the Principia | Isaac Newton
developed the theory of relativity | Albert Einstein
was the first person on the moon | Neil Armstrong
was the first person in space | Yuri Gagarin
was the first woman in space | Valentina Tereshkova
sailed to America in 1492 | Christopher Columbus
found the sea route from Europe to India | Vasco da Gama
reached the South Pole first | Roald Amundsen
was the first president of the United States | George Washington
was president of the United States in the Civil War | Abraham Lincoln
led India to independence without violence | Mahatma Gandhi
was the first black president of South Africa | Nelson Mandela
became emperor of France in 1804 | Napoleon
was the first emperor of Rome | Augustus
was the famous queen of ancient Egypt | Cleopatra
taught Alexander the Great | Aristotle
was the teacher of Plato | Socrates
first climbed Mount Everest with Tenzing Norgay | Edmund Hillary
gave the famous speech "I have a dream" | Martin Luther King
wrote the first computer program | Ada Lovelace
broke the Enigma code in England | Alan Turing
founded modern nursing | Florence Nightingale
put the sun in the center of the planets | Nicolaus Copernicus
saw the moons of Jupiter first | Galileo Galilei
found the laws of how planets move | Johannes Kepler
is the father of the theory of evolution | Charles Darwin
made the periodic table | Dmitri Mendeleev
found the laws of heredity with peas | Gregor Mendel
created Mickey Mouse | Walt Disney
"""
