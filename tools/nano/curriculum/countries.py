"""The countries of the world: capital, continent, currency and languages, without accents.

A star says that the language is the only official one. A dash leaves a question out, mostly
because the answer is disputed or long.
"""

COUNTRIES = """
Afghanistan | Kabul | Asia | the afghani | Pashto and Dari
Albania | Tirana | Europe | the lek | Albanian*
Algeria | Algiers | Africa | the Algerian dinar | Arabic
Andorra | Andorra la Vella | Europe | the euro | Catalan*
Angola | Luanda | Africa | the kwanza | Portuguese*
Antigua and Barbuda | Saint John's | North America | the East Caribbean dollar | English*
Argentina | Buenos Aires | South America | the Argentine peso | Spanish
Armenia | Yerevan | Asia | the dram | Armenian*
Australia | Canberra | Oceania | the Australian dollar | English
Austria | Vienna | Europe | the euro | German*
Azerbaijan | Baku | Asia | the manat | Azerbaijani*
the Bahamas | Nassau | North America | the Bahamian dollar | English*
Bahrain | Manama | Asia | the Bahraini dinar | Arabic*
Bangladesh | Dhaka | Asia | the taka | Bengali*
Barbados | Bridgetown | North America | the Barbadian dollar | English*
Belarus | Minsk | Europe | the Belarusian ruble | Belarusian and Russian
Belgium | Brussels | Europe | the euro | Dutch, French and German
Belize | Belmopan | North America | the Belize dollar | English*
Benin | Porto-Novo | Africa | the West African franc | French*
Bhutan | Thimphu | Asia | the ngultrum | Dzongkha*
Bolivia | Sucre | South America | the boliviano | Spanish
Bosnia and Herzegovina | Sarajevo | Europe | the convertible mark | Bosnian, Serbian and Croatian
Botswana | Gaborone | Africa | the pula | Tswana and English
Brazil | Brasilia | South America | the real | Portuguese*
Brunei | Bandar Seri Begawan | Asia | the Brunei dollar | Malay*
Bulgaria | Sofia | Europe | - | Bulgarian*
Burkina Faso | Ouagadougou | Africa | the West African franc | -
Burundi | Gitega | Africa | the Burundian franc | Kirundi and French
Cambodia | Phnom Penh | Asia | the riel | Khmer*
Cameroon | Yaounde | Africa | the Central African franc | French and English
Canada | Ottawa | North America | the Canadian dollar | English and French
Cape Verde | Praia | Africa | the Cape Verdean escudo | Portuguese
the Central African Republic | Bangui | Africa | the Central African franc | Sango and French
Chad | N'Djamena | Africa | the Central African franc | French and Arabic
Chile | Santiago | South America | the Chilean peso | Spanish
China | Beijing | Asia | the yuan | Chinese
Colombia | Bogota | South America | the Colombian peso | Spanish*
the Comoros | Moroni | Africa | the Comorian franc | Comorian, French and Arabic
Costa Rica | San Jose | North America | the colon | Spanish*
Croatia | Zagreb | Europe | the euro | Croatian*
Cuba | Havana | North America | the Cuban peso | Spanish*
Cyprus | Nicosia | - | the euro | Greek and Turkish
the Czech Republic | Prague | Europe | the koruna | Czech*
the Democratic Republic of the Congo | Kinshasa | Africa | the Congolese franc | -
Denmark | Copenhagen | Europe | the Danish krone | Danish*
Djibouti | Djibouti | Africa | the Djiboutian franc | French and Arabic
Dominica | Roseau | North America | the East Caribbean dollar | English*
the Dominican Republic | Santo Domingo | North America | the Dominican peso | Spanish*
East Timor | Dili | Asia | the US dollar | Tetum and Portuguese
Ecuador | Quito | South America | the US dollar | Spanish
Egypt | Cairo | Africa | the Egyptian pound | Arabic*
El Salvador | San Salvador | North America | the US dollar | Spanish*
Equatorial Guinea | - | Africa | the Central African franc | Spanish
Eritrea | Asmara | Africa | the nakfa | Tigrinya and Arabic
Estonia | Tallinn | Europe | the euro | Estonian*
Eswatini | Mbabane | Africa | the lilangeni | Swazi and English
Ethiopia | Addis Ababa | Africa | the birr | -
Fiji | Suva | Oceania | the Fijian dollar | English, Fijian and Hindi
Finland | Helsinki | Europe | the euro | Finnish and Swedish
France | Paris | Europe | the euro | French*
Gabon | Libreville | Africa | the Central African franc | French*
the Gambia | Banjul | Africa | the dalasi | English*
Georgia | Tbilisi | - | the lari | Georgian
Germany | Berlin | Europe | the euro | German*
Ghana | Accra | Africa | the cedi | English*
Greece | Athens | Europe | the euro | Greek*
Grenada | Saint George's | North America | the East Caribbean dollar | English*
Guatemala | Guatemala City | North America | the quetzal | Spanish*
Guinea | Conakry | Africa | the Guinean franc | French
Guinea-Bissau | Bissau | Africa | the West African franc | Portuguese
Guyana | Georgetown | South America | the Guyanese dollar | English*
Haiti | Port-au-Prince | North America | the gourde | Haitian Creole and French
Honduras | Tegucigalpa | North America | the lempira | Spanish*
Hungary | Budapest | Europe | the forint | Hungarian*
Iceland | Reykjavik | Europe | the Icelandic krona | Icelandic*
India | New Delhi | Asia | the Indian rupee | Hindi, English and many others
Indonesia | Jakarta | Asia | the rupiah | Indonesian*
Iran | Tehran | Asia | the rial | Persian*
Iraq | Baghdad | Asia | the Iraqi dinar | Arabic and Kurdish
Ireland | Dublin | Europe | the euro | English and Irish
Israel | - | Asia | the shekel | Hebrew
Italy | Rome | Europe | the euro | Italian*
the Ivory Coast | Yamoussoukro | Africa | the West African franc | French*
Jamaica | Kingston | North America | the Jamaican dollar | English*
Japan | Tokyo | Asia | the yen | Japanese
Jordan | Amman | Asia | the Jordanian dinar | Arabic*
Kazakhstan | Astana | Asia | the tenge | Kazakh and Russian
Kenya | Nairobi | Africa | the Kenyan shilling | Swahili and English
Kiribati | Tarawa | Oceania | the Australian dollar | Gilbertese and English
Kosovo | Pristina | Europe | the euro | Albanian and Serbian
Kuwait | Kuwait City | Asia | the Kuwaiti dinar | Arabic*
Kyrgyzstan | Bishkek | Asia | the som | Kyrgyz and Russian
Laos | Vientiane | Asia | the kip | Lao*
Latvia | Riga | Europe | the euro | Latvian*
Lebanon | Beirut | Asia | the Lebanese pound | Arabic*
Lesotho | Maseru | Africa | the loti | Sotho and English
Liberia | Monrovia | Africa | the Liberian dollar | English*
Libya | Tripoli | Africa | the Libyan dinar | Arabic*
Liechtenstein | Vaduz | Europe | the Swiss franc | German*
Lithuania | Vilnius | Europe | the euro | Lithuanian*
Luxembourg | Luxembourg | Europe | the euro | Luxembourgish, French and German
Madagascar | Antananarivo | Africa | the ariary | Malagasy and French
Malawi | Lilongwe | Africa | the Malawian kwacha | Chichewa and English
Malaysia | Kuala Lumpur | Asia | the ringgit | Malay*
the Maldives | Male | Asia | the rufiyaa | Dhivehi*
Mali | Bamako | Africa | the West African franc | -
Malta | Valletta | Europe | the euro | Maltese and English
the Marshall Islands | Majuro | Oceania | the US dollar | Marshallese and English
Mauritania | Nouakchott | Africa | the ouguiya | Arabic*
Mauritius | Port Louis | Africa | the Mauritian rupee | Mauritian Creole, English and French
Mexico | Mexico City | North America | the Mexican peso | Spanish
Micronesia | Palikir | Oceania | the US dollar | -
Moldova | Chisinau | Europe | the Moldovan leu | Romanian*
Monaco | Monaco | Europe | the euro | French*
Mongolia | Ulaanbaatar | Asia | the tugrik | Mongolian*
Montenegro | Podgorica | Europe | the euro | Montenegrin and Serbian
Morocco | Rabat | Africa | the Moroccan dirham | Arabic and Berber
Mozambique | Maputo | Africa | the metical | Portuguese*
Myanmar | Naypyidaw | Asia | the kyat | Burmese*
Namibia | Windhoek | Africa | the Namibian dollar | -
Nauru | - | Oceania | the Australian dollar | Nauruan and English
Nepal | Kathmandu | Asia | the Nepalese rupee | Nepali*
the Netherlands | Amsterdam | Europe | the euro | Dutch*
New Zealand | Wellington | Oceania | the New Zealand dollar | English and Maori
Nicaragua | Managua | North America | the cordoba | Spanish*
Niger | Niamey | Africa | the West African franc | -
Nigeria | Abuja | Africa | the naira | English*
North Korea | Pyongyang | Asia | the North Korean won | Korean*
North Macedonia | Skopje | Europe | the denar | Macedonian and Albanian
Norway | Oslo | Europe | the Norwegian krone | Norwegian
Oman | Muscat | Asia | the Omani rial | Arabic*
Pakistan | Islamabad | Asia | the Pakistani rupee | Urdu and English
Palau | Ngerulmud | Oceania | the US dollar | Palauan and English
Panama | Panama City | North America | the balboa | Spanish*
Papua New Guinea | Port Moresby | Oceania | the kina | -
Paraguay | Asuncion | South America | the guarani | Spanish and Guarani
Peru | Lima | South America | the sol | Spanish and Quechua
the Philippines | Manila | Asia | the Philippine peso | Filipino and English
Poland | Warsaw | Europe | the zloty | Polish*
Portugal | Lisbon | Europe | the euro | Portuguese*
Qatar | Doha | Asia | the Qatari riyal | Arabic*
the Republic of the Congo | Brazzaville | Africa | the Central African franc | French*
Romania | Bucharest | Europe | the Romanian leu | Romanian*
Russia | Moscow | - | the Russian ruble | Russian*
Rwanda | Kigali | Africa | the Rwandan franc | Kinyarwanda, English and French
Saint Kitts and Nevis | Basseterre | North America | the East Caribbean dollar | English*
Saint Lucia | Castries | North America | the East Caribbean dollar | English*
Saint Vincent and the Grenadines | Kingstown | North America | the East Caribbean dollar | English*
Samoa | Apia | Oceania | the tala | Samoan and English
San Marino | San Marino | Europe | the euro | Italian*
Sao Tome and Principe | Sao Tome | Africa | the dobra | Portuguese*
Saudi Arabia | Riyadh | Asia | the Saudi riyal | Arabic*
Senegal | Dakar | Africa | the West African franc | French and Wolof
Serbia | Belgrade | Europe | the Serbian dinar | Serbian*
the Seychelles | Victoria | Africa | the Seychellois rupee | Seychellois Creole, English and French
Sierra Leone | Freetown | Africa | the leone | English and Krio
Singapore | Singapore | Asia | the Singapore dollar | English, Malay, Mandarin and Tamil
Slovakia | Bratislava | Europe | the euro | Slovak*
Slovenia | Ljubljana | Europe | the euro | Slovene
the Solomon Islands | Honiara | Oceania | the Solomon Islands dollar | English*
Somalia | Mogadishu | Africa | the Somali shilling | Somali and Arabic
South Africa | Pretoria | Africa | the rand | Zulu, Xhosa, Afrikaans, English and others
South Korea | Seoul | Asia | the South Korean won | Korean
South Sudan | Juba | Africa | the South Sudanese pound | English*
Spain | Madrid | Europe | the euro | Spanish
Sri Lanka | Sri Jayawardenepura Kotte | Asia | the Sri Lankan rupee | Sinhala and Tamil
Sudan | Khartoum | Africa | the Sudanese pound | Arabic and English
Suriname | Paramaribo | South America | the Surinamese dollar | Dutch*
Sweden | Stockholm | Europe | the Swedish krona | Swedish*
Switzerland | Bern | Europe | the Swiss franc | German, French, Italian and Romansh
Syria | Damascus | Asia | the Syrian pound | Arabic*
Taiwan | Taipei | Asia | the New Taiwan dollar | Mandarin Chinese
Tajikistan | Dushanbe | Asia | the somoni | Tajik
Tanzania | Dodoma | Africa | the Tanzanian shilling | Swahili and English
Thailand | Bangkok | Asia | the baht | Thai*
Togo | Lome | Africa | the West African franc | French*
Tonga | Nuku'alofa | Oceania | the pa'anga | Tongan and English
Trinidad and Tobago | Port of Spain | North America | the Trinidad and Tobago dollar | English*
Tunisia | Tunis | Africa | the Tunisian dinar | Arabic*
Turkey | Ankara | - | the Turkish lira | Turkish*
Turkmenistan | Ashgabat | Asia | the Turkmen manat | Turkmen*
Tuvalu | Funafuti | Oceania | the Australian dollar | Tuvaluan and English
Uganda | Kampala | Africa | the Ugandan shilling | English and Swahili
Ukraine | Kyiv | Europe | the hryvnia | Ukrainian*
the United Arab Emirates | Abu Dhabi | Asia | the dirham | Arabic*
the United Kingdom | London | Europe | the pound sterling | English
the United States | Washington, D.C. | North America | the US dollar | English
Uruguay | Montevideo | South America | the Uruguayan peso | Spanish
Uzbekistan | Tashkent | Asia | the sum | Uzbek*
Vanuatu | Port Vila | Oceania | the vatu | Bislama, English and French
Vatican City | - | Europe | the euro | Italian and Latin
Venezuela | Caracas | South America | the bolivar | Spanish
Vietnam | Hanoi | Asia | the dong | Vietnamese*
Yemen | Sana'a | Asia | the Yemeni rial | Arabic*
Zambia | Lusaka | Africa | the Zambian kwacha | English*
Zimbabwe | Harare | Africa | - | -
"""
