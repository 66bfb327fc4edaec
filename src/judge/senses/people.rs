//! The subject guard: of whom a text speaks besides the user.

use super::Classes;

#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("wife", &["wife", "妻子", "老婆", "太太", "妻", "esposa", "frau"]), ("husband", &["husband", "丈夫", "老公", "marido"]),
    ("partner", &["partner", "girlfriend", "boyfriend", "男友", "女友", "男朋友", "女朋友", "对象"]),
    ("mother", &["mother", "mum", "mom", "mummy", "mutter", "madre", "妈妈", "母亲", "老妈", "母"]), ("father", &["father", "dad", "daddy", "vater", "padre", "爸爸", "父亲", "老爸"]),
    ("parents", &["parents", "父母", "爸妈", "eltern"]), ("son", &["son", "sons", "儿子", "sohn", "hijo", "息子"]), ("daughter", &["daughter", "daughters", "女儿", "tochter", "hija", "娘"]),
    ("children", &["child", "children", "kids", "kid", "孩子", "小孩", "niños"]), ("twins", &["twins", "twin", "双胞胎"]),
    ("brother", &["brother", "brothers", "哥哥", "弟弟", "bruder", "hermano"]), ("sister", &["sister", "sisters", "姐姐", "妹妹", "schwester", "hermana"]),
    ("uncle", &["uncle", "叔叔", "舅舅", "伯伯"]), ("aunt", &["aunt", "阿姨", "姑姑", "姨妈"]), ("cousin", &["cousin", "cousins", "表哥", "表弟", "表姐", "表妹", "堂弟", "堂哥"]),
    ("nephew", &["nephew", "nephews", "侄子", "外甥", "sobrinos"]), ("niece", &["niece", "nieces", "侄女", "sobrina"]),
    ("grandmother", &["grandmother", "grandma", "granny", "奶奶", "外婆", "姥姥"]), ("grandfather", &["grandfather", "grandpa", "爷爷", "外公", "姥爷"]),
    ("father-in-law", &["father-in-law", "岳父", "公公"]), ("mother-in-law", &["mother-in-law", "岳母", "婆婆"]),
    ("friend", &["friend", "friends", "朋友", "freund", "amigo", "友達"]), ("colleague", &["colleague", "colleagues", "coworker", "coworkers", "同事"]),
    ("boss", &["boss", "supervisor", "老板", "上司", "领导"]), ("manager", &["manager", "经理"]), ("neighbour", &["neighbour", "neighbor", "neighbours", "neighbors", "邻居", "nachbar"]),
    ("landlord", &["landlord", "房东"]), ("roommate", &["roommate", "flatmate", "室友"]), ("client", &["client", "clients", "customer", "customers", "客户"]),
    ("dog", &["dog", "dogs", "puppy", "狗", "小狗", "犬"]), ("cat", &["cat", "cats", "kitten", "猫", "小猫"]),
];
